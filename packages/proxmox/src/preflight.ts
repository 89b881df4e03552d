// What must hold in a region before jobs run in it, checked by reads only. Each finding names what was found
// and what to do about it; a check that cannot be made is reported instead of passing.

import type { ProxmoxClient } from "./client.ts";
import { onlineNodes } from "./cluster.ts";
import { grantCommands } from "./driver-calls/grants.ts";
import { ProxmoxError } from "./errors.ts";
import { type Finding, failed, passed } from "./finding.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import { checkExcess, checkForeignPools, checkPrivileges, privilegesHeld } from "./preflight-privileges.ts";
import { checkTemplate } from "./preflight-template.ts";

export type { Finding } from "./finding.ts";

export type PreflightSettings = {
  readonly storages: readonly string[];
  readonly bridges: readonly string[];
  /** Pools of ours are named "<prefix>-<organisation>". */
  readonly poolPrefix: string;
  /** Image slug to the template's VMIDs: one, or one for each node with local storage. */
  readonly templates: Readonly<Record<string, readonly number[]>>;
  /** Both ends belong to the range. */
  readonly vmidRange: readonly [number, number];
  /** Whether every node has Kule's filter of guests' frames, by the region file. */
  readonly hasNodeFilter: boolean;
};

const OLDEST_VERSION = [8, 4] as const;

/** Never throws for what it finds; throws only what is not about Proxmox. */
export async function preflight(client: ProxmoxClient, settings: PreflightSettings): Promise<Finding[]> {
  let majorVersion = 0;
  const version = await attempt("version", "required", async () => {
    const answer = await client.call("GET /version", {});
    majorVersion = Number(answer.version.split(".")[0]);
    return [checkVersion(answer.version)];
  });
  // Without an answer to the simplest question every other check would only repeat it.
  if (version.length === 1 && version[0]?.ok === false) return version;
  const region = { ...settings, templates: Object.values(settings.templates).flat() };
  const groups = await Promise.all([
    attempt("token privileges", "required", () => checkPrivileges(client, region, majorVersion)),
    attempt("privileges beyond what is needed", "advised", () => checkExcess(client, region, majorVersion)),
    attempt("pools of others", "advised", () => checkForeignPools(client, settings.poolPrefix)),
    attempt("nodes", "required", () => checkNodes(client)),
    attempt("storages", "required", () => checkStorages(client, settings.storages)),
    attempt("bridges", "required", () => checkBridges(client, settings.bridges)),
    ...Object.entries(settings.templates).flatMap(([slug, vmids]) =>
      vmids.map((vmid) => attempt(`template ${slug}`, "required", () => checkTemplate(client, slug, vmid))),
    ),
    attempt("VMID range", "required", () => checkGuestsInRange(client, settings.vmidRange)),
    attempt("next-id range", "advised", () => checkNextId(client, settings.vmidRange)),
    attempt("firewall", "advised", () => checkFirewall(client)),
    [checkNodeFilter(settings.hasNodeFilter)],
  ]);
  return [...version, ...groups.flat()];
}

async function attempt(
  check: string,
  severity: Finding["severity"],
  look: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ProxmoxError)) throw error;
    return [
      { check, ok: false, severity, found: `could not be checked: ${error.message}`, fix: error.facts.fix },
    ];
  }
}

function checkVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const recent = major > OLDEST_VERSION[0] || (major === OLDEST_VERSION[0] && minor >= OLDEST_VERSION[1]);
  return recent
    ? passed("version", `Proxmox VE ${version}`)
    : failed("version", `Proxmox VE ${version}`, `Upgrade to ${OLDEST_VERSION.join(".")} or newer.`);
}

async function checkNodes(client: ProxmoxClient): Promise<Finding[]> {
  const nodes = await client.call("GET /nodes", {});
  return nodes.map(({ node, status }) =>
    status === "online"
      ? passed(`node ${node}`, "online")
      : failed(`node ${node}`, status, "Servers on this node cannot be changed until it is back.", "advised"),
  );
}

async function checkStorages(client: ProxmoxClient, storages: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const node of await onlineNodes(client)) {
    const present = await client.call("GET /nodes/{node}/storage", { node });
    for (const storage of storages) {
      const check = `storage ${storage} on ${node}`;
      const row = present.find((each) => each.storage === storage);
      if (!row)
        findings.push(
          failed(
            check,
            "not there, or hidden from the token",
            "Add the storage to the node, or grant Datastore.Audit.",
          ),
        );
      else if (!readBoolean(row.active) || row.enabled === 0)
        findings.push(failed(check, "not active", "Enable the storage: pvesm status."));
      else if (!row.content.split(",").includes("images"))
        findings.push(
          failed(check, `holds ${row.content}`, `Allow disk images: pvesm set ${storage} --content images`),
        );
      else
        findings.push(
          passed(check, `${row.type}, ${Math.round((readNumber(row.avail) ?? 0) / 2 ** 30)} GiB free`),
        );
    }
  }
  return findings;
}

async function checkBridges(client: ProxmoxClient, bridges: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const node of await onlineNodes(client)) {
    const interfaces = (await client.call("GET /nodes/{node}/network", {
      node,
      type: "any_bridge",
    })) as unknown as {
      iface: string;
      bridge_vlan_aware?: number;
      type: string;
    }[];
    for (const bridge of bridges) {
      const check = `bridge ${bridge} on ${node}`;
      const row = interfaces.find((each) => each.iface === bridge);
      if (!row)
        findings.push(
          failed(
            check,
            "not there, or hidden from the token",
            `Make the bridge, or grant SDN.Use on /sdn/zones/localnetwork/${bridge}.`,
          ),
        );
      else if (row.type === "bridge" && !readBoolean(row.bridge_vlan_aware))
        findings.push(
          failed(
            check,
            "not VLAN aware",
            `Set bridge-vlan-aware yes for ${bridge}: each subnet is a VLAN of it.`,
          ),
        );
      else findings.push(passed(check, row.type));
    }
  }
  return findings;
}

/** A guest in our range without our description is not Kule's: sooner or later a server gets its VMID. */
async function checkGuestsInRange(
  client: ProxmoxClient,
  [first, last]: readonly [number, number],
): Promise<Finding[]> {
  const check = `VMID range ${first}-${last}`;
  const rows = await client.call("GET /cluster/resources", { type: "vm" });
  const foreign = rows.filter((row) => {
    const vmid = readNumber(row.vmid) ?? 0;
    return vmid >= first && vmid <= last && !(row.tags ?? "").split(";").includes("kule") && !row.lock;
  });
  if (foreign.length === 0) return [passed(check, "no guests but ours")];
  return [
    failed(
      check,
      `guests of others: ${foreign.map((row) => row.vmid).join(", ")}`,
      "Move them, or choose another hypervisor.vmid_range.",
    ),
  ];
}

async function checkNextId(
  client: ProxmoxClient,
  [first, last]: readonly [number, number],
): Promise<Finding[]> {
  const check = "next-id range";
  const hidden = await hiddenCluster(client, check);
  if (hidden !== null) return [hidden];
  const options = await client.call("GET /cluster/options", {});
  const nextId = options["next-id"];
  const text = typeof nextId === "string" ? nextId : JSON.stringify(nextId ?? "");
  const bound = (name: string) => readNumber(new RegExp(`${name}["=: ]+(\\d+)`).exec(text)?.[1]);
  const [lower, upper] = [bound("lower") ?? 100, bound("upper") ?? 1_000_000];
  const found = `new guests made by hand get ${lower} to ${upper - 1}`;
  if (upper <= first || lower > last) return [{ ...passed(check, found), severity: "advised" }];
  return [
    failed(
      check,
      found,
      `Keep them out of our range: Datacenter, Options, Next Free VMID Range, upper ${first}.`,
      "advised",
    ),
  ];
}

async function checkFirewall(client: ProxmoxClient): Promise<Finding[]> {
  const hidden = await hiddenCluster(client, "firewall");
  if (hidden !== null) return [hidden];
  const options = await client.call("GET /cluster/firewall/options", {});
  if (readBoolean(options.enable)) return [{ ...passed("firewall", "enabled"), severity: "advised" }];
  return [
    failed(
      "firewall",
      "the cluster's firewall is off",
      "Nothing keeps a guest from using another's address: Datacenter, Firewall, Options, enable.",
      "advised",
    ),
  ];
}

/**
 * The cluster's own settings need the right to audit / itself; without it the answers are empty, or refused.
 */
async function hiddenCluster(client: ProxmoxClient, check: string): Promise<Finding | null> {
  if ("Sys.Audit" in (await privilegesHeld(client, "/"))) return null;
  const grant = { path: "/", role: "CloudNode", propagate: false } as const;
  return failed(
    check,
    "not readable: Sys.Audit on / is missing",
    grantCommands(grant, client.tokenId),
    "advised",
  );
}

/**
 * The API shows nothing of what a node's kernel does with frames: the operator states in the region file that
 * the filter is loaded.
 */
function checkNodeFilter(isDeclared: boolean): Finding {
  const check = "frames with a tag";
  if (isDeclared)
    return { ...passed(check, "the region file says that every node filters them"), severity: "advised" };
  return failed(
    check,
    "nothing says that the nodes filter them, and their firewall does not look into any",
    "A guest that sends with a priority tag can use another's address and pass a neighbour's firewall. Load infra/proxmox/kule-node-filter.nft on every node (docs/runbooks/agent.md), then write hypervisor.node_filter: true.",
    "advised",
  );
}
