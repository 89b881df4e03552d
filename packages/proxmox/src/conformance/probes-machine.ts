import { bootDiskOf } from "../disks.ts";
import { readNumber } from "../lenient.ts";
import { parseNetDevice } from "../property-string.ts";
import { renderSize } from "../sizes.ts";
import { decodeSshKeys, encodeSshKeys } from "../ssh-keys.ts";
import { normalConfig } from "../vm-observation.ts";
import type { ProbeSite } from "./conformance.ts";
import type { ProbeRun } from "./probe-run.ts";

const KEY =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJv1kYq1u4a8m1mGv0A5p0cQyXk6k1m2b3c4d5e6f7g8 conformance+a=b@example";
const MAC = "BC:24:11:00:C0:DE";
const STALE = "0".repeat(40);
const GIB = 2 ** 30;
/** Without a grant on its number a VM cannot be distinguished from an absent one. */
const NOT_THERE = ["ProxmoxNotFound", "ProxmoxForbidden"] as const;

const CONFIG = "GET /nodes/{node}/qemu/{vmid}/config";
const CHANGE = "POST /nodes/{node}/qemu/{vmid}/config";
const CLONE = "POST /nodes/{node}/qemu/{vmid}/clone";
const DESTROY = "DELETE /nodes/{node}/qemu/{vmid}";

/** Creates the VM that the other probes use, and checks its config. False when there is none. */
export async function probeMachine(run: ProbeRun, site: ProbeSite): Promise<boolean> {
  const { node, vmid, absent, pool, template, storage } = site;
  const at = { node, vmid };
  await run.answers("POST /pools", "a new one", { poolid: pool, comment: site.mark });
  await run.refuses("POST /pools", "one that is there", { poolid: pool, comment: site.mark }, [
    "ProxmoxFailure",
  ]);
  await run.answers("GET /pools", "after one was made", {}, (pools) =>
    pools.some(({ poolid }) => poolid === pool) ? null : "lacks it",
  );

  // Whatever form a value is sent in, it has to arrive as it is.
  const description = `${site.mark}\na=b;c&d+e ü`;
  const wanted = {
    node,
    vmid: template,
    newid: vmid,
    name: "kule-conformance",
    description,
    pool,
    full: true,
    storage,
  };
  await run.refuses(CLONE, "a pool that is not there", { ...wanted, pool: "kule-absent" }, [
    "ProxmoxForbidden",
  ]);
  await run.refuses(CLONE, "a name that is none", { ...wanted, name: "no_name!" }, ["ProxmoxBadRequest"]);
  await run.refuses(CLONE, "a number that is taken", { ...wanted, newid: template }, ["ProxmoxExists"]);
  const upid = await run.answers(CLONE, "a full clone into a pool", wanted);
  if (upid === null) return false;
  await run.refuses(CLONE, "the same once more", wanted, ["ProxmoxExists"]);
  const recent = { node, source: "all", typefilter: "qmclone", vmid: template, limit: 50 } as const;
  await run.answers("GET /nodes/{node}/tasks", "clones of the template", recent, (tasks) =>
    tasks.some((task) => task.upid === upid && task.status === "OK")
      ? null
      : "lacks the clone, or it is not OK",
  );
  await run.answers(
    "GET /nodes/{node}/tasks/{upid}/status",
    "of a task that has ended",
    { node, upid },
    (task) =>
      task.status === "stopped" && task.exitstatus === "OK"
        ? null
        : `answers ${task.status}, ${task.exitstatus}`,
  );
  await run.answers(
    "GET /nodes/{node}/tasks/{upid}/log",
    "of a task",
    { node, upid, start: 0, limit: 50 },
    (lines) => (lines.every(({ t }) => typeof t === "string") ? null : "has lines without text"),
  );
  await run.answers("GET /cluster/resources", "machines, after a clone", { type: "vm" }, (rows) => {
    const row = rows.find((each) => readNumber(each.vmid) === vmid);
    return row?.pool === pool && row.node === node ? null : `says ${JSON.stringify(row)} of it`;
  });

  const made = await run.answers(CONFIG, "of the clone", at, (config) =>
    config.description?.trimEnd() !== description
      ? `has the description ${JSON.stringify(config.description)}, sent was ${JSON.stringify(description)}`
      : config.name !== wanted.name
        ? `has the name ${config.name}`
        : /^[0-9a-f]{40}$/.test(config.digest ?? "")
          ? null
          : `has the digest ${config.digest}`,
  );
  await run.refuses(CONFIG, "of a number without a VM", { node, vmid: absent }, NOT_THERE);
  if (site.otherNode !== null)
    await run.refuses(CONFIG, "on a node where it is not", { node: site.otherNode, vmid }, [
      "ProxmoxNotFound",
    ]);
  for (const call of [
    "GET /nodes/{node}/qemu/{vmid}/pending",
    "GET /nodes/{node}/qemu/{vmid}/status/current",
    "GET /nodes/{node}/qemu/{vmid}/cloudinit",
  ] as const) {
    await run.answers(call, "of the clone", at);
    await run.refuses(call, "of a number without a VM", { node, vmid: absent }, NOT_THERE);
  }
  if (made === null) return false;
  await probePools(run, site);
  await probeConfig(run, site);
  await probeDisk(run, site);
  const writeDrive = "PUT /nodes/{node}/qemu/{vmid}/cloudinit";
  await run.answers(writeDrive, "of a VM that is off", at);
  await run.refuses(writeDrive, "of a number without a VM", { node, vmid: absent }, NOT_THERE);
  await run.refuses(DESTROY, "a VM that is protected", { ...at, purge: true }, ["ProxmoxProtected"]);
  await run.answers(CHANGE, "a key taken away", { ...at, delete: "protection,searchdomain" });
  await run.answers(CONFIG, "after a key was taken away", at, (config) =>
    normalConfig(config).searchdomain === undefined ? null : "still has it",
  );
  return true;
}

/** It is never removed from every pool: a token with a role on the pools only could not add it again. */
async function probePools(run: ProbeRun, { vmid, absent, pool, otherPool, mark }: ProbeSite): Promise<void> {
  const vms = String(vmid);
  await run.answers("POST /pools", "a second one", { poolid: otherPool, comment: mark });
  for (const poolid of [otherPool, pool]) {
    const move = { poolid, vms, "allow-move": true };
    await run.answers("PUT /pools", `a VM moved to ${poolid}`, move);
    await run.refuses("PUT /pools", "the same once more", move, ["ProxmoxFailure"]);
    await run.answers("GET /cluster/resources", "machines, after a move", { type: "vm" }, (rows) => {
      const seen = rows.find((each) => readNumber(each.vmid) === vmid)?.pool;
      return seen === poolid ? null : `says that it is in ${seen}`;
    });
  }
  await run.refuses("PUT /pools", "from a pool without asking for a move", { poolid: otherPool, vms }, [
    "ProxmoxFailure",
  ]);
  await run.refuses(
    "PUT /pools",
    "a VM that is not there taken out",
    { poolid: pool, vms: String(absent), delete: true },
    ["ProxmoxFailure", "ProxmoxForbidden"],
  );
}

async function probeConfig(run: ProbeRun, site: ProbeSite): Promise<void> {
  const at = { node: site.node, vmid: site.vmid };
  const password = "$6$rounds=5000$abcdefgh$0123456789abcdef";
  const sent = {
    sockets: "1",
    cores: "2",
    memory: "1024",
    balloon: "0",
    tags: "kule-b;Kule-A",
    onboot: "0",
    protection: "1",
    agent: "enabled=1",
    net0: `virtio=${MAC},bridge=${site.bridge},firewall=1`,
    serial0: "socket",
    ipconfig0: "ip=192.0.2.10/24,gw=192.0.2.1",
    ciuser: "kule",
    cipassword: password,
    ciupgrade: "0",
    sshkeys: encodeSshKeys([KEY]),
    nameserver: "192.0.2.53 192.0.2.54",
    searchdomain: "conformance.internal",
  };
  await run.answers(CHANGE, "everything that a server is made of", { ...at, ...sent });
  await run.answers(CONFIG, "after it was written", at, (config) => {
    const seen = normalConfig(config);
    for (const key of [
      "cores",
      "memory",
      "ciuser",
      "nameserver",
      "searchdomain",
      "ipconfig0",
      "serial0",
    ] as const)
      if (seen[key] !== sent[key]) return `has ${key} ${seen[key]}, sent was ${sent[key]}`;
    if (seen.tags?.split(/[;, ]/).sort().join() !== "kule-a,kule-b") return `has the tags ${seen.tags}`;
    if (parseNetDevice(seen.net0 ?? "").mac?.toUpperCase() !== MAC) return `has net0 ${seen.net0}`;
    if (decodeSshKeys(seen.sshkeys ?? "").join() !== decodeSshKeys(sent.sshkeys).join())
      return `has sshkeys ${seen.sshkeys}`;
    return seen.cipassword === undefined || seen.cipassword.includes(password)
      ? "shows the password, or has none"
      : null;
  });
  await run.refuses(CHANGE, "a digest that is not the present one", { ...at, cores: "1", digest: STALE }, [
    "ProxmoxConflict",
  ]);
  await run.refuses(CHANGE, "memory that is no number", { ...at, memory: "much" }, ["ProxmoxBadRequest"]);
  await run.refuses(
    CHANGE,
    "a bridge that the token may not use",
    { ...at, net1: `virtio=BC:24:11:00:C0:DF,bridge=vmbr4093` },
    ["ProxmoxForbidden"],
  );
}

async function probeDisk(run: ProbeRun, site: ProbeSite): Promise<void> {
  const { node, vmid, storage } = site;
  const at = { node, vmid };
  const RESIZE = "PUT /nodes/{node}/qemu/{vmid}/resize";
  const config = await run.answers(CONFIG, "before its disk grows", at, (seen) =>
    bootDiskOf(normalConfig(seen))?.bytes ? null : "has no boot disk with a size",
  );
  const disk = config === null ? null : bootDiskOf(normalConfig(config));
  if (disk === null || disk === undefined || !disk.bytes)
    return run.leave(RESIZE, "a disk that grows", "the template has no boot disk with a size");
  const key = disk.key as "scsi0";
  const size = renderSize(disk.bytes + GIB);
  await run.refuses(
    RESIZE,
    "a digest that is not the present one",
    { ...at, disk: key, size, digest: STALE },
    ["ProxmoxConflict"],
  );
  await run.answers(RESIZE, "a disk that grows", { ...at, disk: key, size });
  await run.answers(CONFIG, "after its disk has grown", at, (seen) => {
    const bytes = bootDiskOf(normalConfig(seen))?.bytes;
    return bytes === (disk.bytes ?? 0) + GIB ? null : `says ${bytes} bytes, asked was ${size}`;
  });
  await run.refuses(RESIZE, "a disk that shrinks", { ...at, disk: key, size: renderSize(disk.bytes) }, [
    "ProxmoxAlready",
  ]);
  await run.answers(
    "GET /nodes/{node}/storage/{storage}/content",
    "volumes of the clone",
    { node, storage, vmid },
    (rows) => (rows.some(({ volid }) => volid.includes(`vm-${vmid}-`)) ? null : "lacks its disk"),
  );
}
