import { agentRoles, allPrivileges } from "./access/privileges.ts";
import type { VmDocument } from "./documents.ts";
import type { Region } from "./region.ts";
import { randomUuid, systemSecrets } from "./runtime.ts";
import type { DocumentChange } from "./store.ts";
import { randomMac } from "./vm/networks.ts";

const GIB = 1024 ** 3;
export const AGENT_TOKEN = "cloud@pve!agent";
export const OPERATOR_TOKEN = "root@pam!operator";
const DISKS = "ceph-vm";

interface Template {
  readonly vmid: number;
  readonly name: string;
  readonly windows: boolean;
  readonly diskGib: number;
}

/** The templates of a new region; the names are the catalogue's image slugs, and those of appliances. */
export const TEMPLATES: readonly Template[] = [
  { vmid: 9000, name: "ubuntu-24.04", windows: false, diskGib: 4 },
  { vmid: 9001, name: "ubuntu-22.04", windows: false, diskGib: 4 },
  { vmid: 9002, name: "debian-12", windows: false, diskGib: 3 },
  { vmid: 9003, name: "debian-13", windows: false, diskGib: 3 },
  { vmid: 9004, name: "rocky-9", windows: false, diskGib: 10 },
  { vmid: 9005, name: "windows-2022", windows: true, diskGib: 32 },
  { vmid: 9006, name: "windows-2025", windows: true, diskGib: 32 },
  { vmid: 9007, name: "kule-lb", windows: false, diskGib: 3 },
];

function templateChanges(region: Region, template: Template): DocumentChange[] {
  const { vmid, windows } = template;
  const disk = `${DISKS}:base-${vmid}-disk-0`;
  const drive = `${DISKS}:vm-${vmid}-cloudinit`;
  const config: Record<string, string> = {
    agent: "enabled=1",
    boot: "order=scsi0",
    // Settings of a careless template; a driver must set or delete them.
    ciuser: windows ? "Administrator" : "template",
    cores: "1",
    cpu: "x86-64-v2-AES",
    description: `Template ${template.name}`,
    ide2: `${drive},media=cdrom,size=4M`,
    ipconfig0: "ip=dhcp",
    memory: windows ? "4096" : "1024",
    name: template.name,
    net0: `virtio=${randomMac(region.runtime)},bridge=vmbr1,firewall=1`,
    ostype: windows ? "win11" : "l26",
    scsi0: `${disk},discard=on,iothread=1,size=${template.diskGib}G,ssd=1`,
    scsihw: "virtio-scsi-single",
    smbios1: `uuid=${randomUuid(region.runtime)}`,
    tags: "template",
    template: "1",
    vmgenid: randomUuid(region.runtime),
    ...(windows ? { citype: "configdrive2" } : { serial0: "socket", vga: "serial0" }),
  };
  const createdAt = Math.floor(region.runtime.nowMs() / 1000);
  const volume = (volid: string, sizeBytes: number): DocumentChange => [
    "volume",
    volid,
    {
      volid,
      storage: DISKS,
      name: volid.slice(DISKS.length + 1),
      vmid,
      sizeBytes,
      format: "raw",
      content: "images",
      node: null,
      parent: null,
      createdAt,
    },
  ];
  const vm: VmDocument = {
    vmid,
    node: "pve1",
    temporary: false,
    config,
    pending: {},
    pendingDelete: {},
    cloudInitChanges: {},
    process: null,
    drive: null,
    guest: { bootedInstanceId: null, firstBoots: 0, passwords: {} },
  };
  return [["vm", String(vmid), vm], volume(disk, template.diskGib * GIB), volume(drive, 4 * 1024 * 1024)];
}

/**
 * The grant of the agent's token. `pools`: as in its runbook, servers by their pools. `guests`: all of /vms
 * as well, so that servers can be adopted wherever they are. `none`: there is neither token nor user nor
 * role.
 */
export type AgentGrant = "pools" | "guests" | "none";

/** The agent's grants, as path, role, and whether it holds below the path. */
const AGENT_GRANTS: readonly (readonly [path: string, roleid: string, propagate: boolean])[] = [
  ["/pool", "CloudAgent", true],
  ...TEMPLATES.map(({ vmid }) => [`/vms/${vmid}`, "CloudTemplate", true] as const),
  [`/storage/${DISKS}`, "CloudStore", true],
  ["/sdn/zones/localnetwork/vmbr0", "CloudNet", true],
  ["/sdn/zones/localnetwork/vmbr1", "CloudNet", true],
  ["/nodes", "CloudNode", true],
  ["/", "CloudNode", false],
];

/**
 * Fills an empty store: two nodes, two storages, two bridges, templates, the agent's token.
 *
 * @param size how many times as big as usual nodes and storages are
 */
export function seedRegion(region: Region, size = 1, agentGrant: AgentGrant = "guests"): void {
  const changes: DocumentChange[] = [
    [
      "cluster",
      "cluster",
      {
        name: "lab",
        quorate: true,
        nextIdLower: 100,
        nextIdUpper: 1_000_000,
        firewallOptions: { enable: "1" },
      },
    ],
  ];
  for (const [index, name] of ["pve1", "pve2"].entries()) {
    const address = `192.0.2.${11 + index}`;
    changes.push([
      "node",
      name,
      { name, online: true, cores: 128 * size, memoryBytes: 1024 * size * GIB, address },
    ]);
  }
  changes.push(
    [
      "storage",
      DISKS,
      { storage: DISKS, type: "rbd", shared: true, content: ["images"], totalBytes: 65_536 * size * GIB },
    ],
    [
      "storage",
      "local",
      {
        storage: "local",
        type: "dir",
        shared: false,
        content: ["images", "iso", "vztmpl", "backup", "snippets", "import"],
        totalBytes: 200 * GIB,
      },
    ],
    ["bridge", "vmbr0", { iface: "vmbr0", vlanAware: true }],
    ["bridge", "vmbr1", { iface: "vmbr1", vlanAware: true }],
  );
  for (const template of TEMPLATES) changes.push(...templateChanges(region, template));

  const all = allPrivileges(region.version);
  const roles: Record<string, string[]> = {
    Administrator: all,
    NoAccess: [],
    PVEAuditor: all.filter((name) => name.endsWith(".Audit")),
  };
  for (const [roleid, privileges] of Object.entries(roles)) {
    changes.push(["role", roleid, { roleid, privileges, special: true }]);
  }
  const user = (userid: string): DocumentChange => ["user", userid, { userid, enable: true, expire: 0 }];
  const token = (tokenid: string, privsep: boolean): DocumentChange => [
    "token",
    tokenid,
    { tokenid, userid: tokenid.split("!")[0] ?? "", privsep, expire: 0, secret: systemSecrets.token() },
  ];
  changes.push(user("root@pam"), token(OPERATOR_TOKEN, false));
  if (agentGrant !== "none")
    changes.push(user("cloud@pve"), token(AGENT_TOKEN, true), ...agentAccess(region, agentGrant));
  region.store.commit({ op: "region-seeded", detail: { version: region.version } }, changes);
}

function agentAccess(region: Region, agentGrant: AgentGrant): DocumentChange[] {
  const roles = Object.entries(agentRoles(region.version)).map(
    ([roleid, privileges]): DocumentChange => ["role", roleid, { roleid, privileges, special: false }],
  );
  const grants =
    agentGrant === "guests" ? [...AGENT_GRANTS, ["/vms", "CloudAgent", true] as const] : AGENT_GRANTS;
  // A separated token needs each grant twice: its owner's and its own.
  const entries = grants.flatMap(([path, roleid, propagate]) =>
    (
      [
        ["user", "cloud@pve"],
        ["token", AGENT_TOKEN],
      ] as const
    ).map(
      ([type, ugid]): DocumentChange => [
        "acl",
        `${path} ${ugid} ${roleid}`,
        { path, type, ugid, roleid, propagate },
      ],
    ),
  );
  return [...roles, ...entries];
}

/** After a change of version: the same roles, with the privileges that exist there. */
export function refreshRoles(region: Region): void {
  const all = allPrivileges(region.version);
  const wanted = { Administrator: all, ...agentRoles(region.version) };
  const changes: DocumentChange[] = [];
  for (const [roleid, privileges] of Object.entries(wanted)) {
    const role = region.store.get("role", roleid);
    if (role !== undefined && role.privileges.join() !== privileges.join()) {
      changes.push(["role", roleid, { ...role, privileges }]);
    }
  }
  if (changes.length > 0)
    region.store.commit({ op: "roles-refreshed", detail: { version: region.version } }, changes);
}
