import { ApiError, badParameters } from "../api-error.ts";
import { type Call, type Handlers, number, required, text } from "../call.ts";
import { clusterOf, nodesOf, type Region, requireQuorum } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";
import { taskState } from "../tasks/worker.ts";

import { clusterResources } from "./cluster-resources.ts";

const RELEASES = {
  "8.2": { version: "8.2.4", release: "8.2", repoid: "faa83925c9641325" },
  "8.4": { version: "8.4.14", release: "8.4", repoid: "a7fbc1c3e6bfb6a4" },
  "9.0": { version: "9.0.3", release: "9.0", repoid: "025864202ebb6109" },
  "9.2": { version: "9.2.11", release: "9.2", repoid: "14a22df3c0e1a7b2" },
} as const;

/** The answer of GET /version. */
export function versionOf({ version }: Region): Record<string, string> {
  return { ...RELEASES[version], console: "html5" };
}

function nextId(call: Call): string {
  const { region } = call;
  const taken = (vmid: number): boolean => region.store.get("vm", String(vmid)) !== undefined;
  const asked = number(call, "vmid");
  if (asked !== undefined) {
    if (taken(asked)) throw badParameters({ vmid: `VM ${asked} already exists` });
    return String(asked);
  }
  const { nextIdLower, nextIdUpper } = clusterOf(region);
  for (let vmid = nextIdLower; vmid < nextIdUpper; vmid++) if (!taken(vmid)) return String(vmid);
  throw new ApiError(500, `unable to get any free VMID in range [${nextIdLower}, ${nextIdUpper - 1}]\n`);
}

function clusterStatus(call: Call): unknown[] {
  const { region } = call;
  const { name, quorate } = clusterOf(region);
  const nodes = nodesOf(region);
  return [
    { id: "cluster", type: "cluster", name, nodes: nodes.length, quorate: quorate ? 1 : 0, version: 2 },
    ...nodes.map((node, index) => ({
      id: `node/${node.name}`,
      type: "node",
      name: node.name,
      nodeid: index + 1,
      ip: node.address,
      local: index === 0 ? 1 : 0,
      online: node.online ? 1 : 0,
      level: "",
    })),
  ];
}

function clusterTasks(call: Call): unknown[] {
  const { region, authUser } = call;
  const all = region.permissions.has(authUser, "/", "Sys.Audit");
  return region.store
    .all("task")
    .filter(({ user }) => all || user === authUser)
    .slice(-25)
    .map((task) => {
      const state = taskState(region, task);
      const { upid, node, type, id, user, starttime, endtime } = task;
      return {
        upid,
        node,
        type,
        id,
        user: user.split("!")[0],
        ...(user.includes("!") ? { tokenid: user.split("!")[1] } : {}),
        starttime,
        ...(state.status === "running" ? {} : { endtime: endtime ?? starttime, status: state.exitstatus }),
      };
    });
}

function permissionsOf(call: Call): unknown {
  const { region, authUser } = call;
  const asked = text(call, "userid");
  if (asked !== undefined && asked !== authUser) {
    const own = asked.split("!")[0] === authUser;
    if (!own) region.permissions.require(authUser, "/access", "Sys.Audit");
  }
  const who = asked ?? authUser;
  const path = text(call, "path");
  if (path === undefined) return region.permissions.effective(who);
  const held = region.permissions.on(who, path);
  return held.size === 0
    ? {}
    : { [path]: Object.fromEntries([...held].map(([name, p]) => [name, p ? 1 : 0])) };
}

/** Without Sys.Audit on / the answer lacks these options, without a hint that something is left out. */
function clusterOptions({ region, authUser }: Call): Record<string, unknown> {
  const always = { "allowed-tags": [] };
  if (!region.permissions.has(authUser, "/", "Sys.Audit")) return always;
  const { nextIdLower, nextIdUpper } = clusterOf(region);
  // Its numbers are text, as in the file that they are read from.
  const nextId = {
    ...(nextIdLower === 100 ? {} : { lower: String(nextIdLower) }),
    ...(nextIdUpper === 1_000_000 ? {} : { upper: String(nextIdUpper) }),
  };
  return { ...always, keyboard: "en-us", ...(Object.keys(nextId).length === 0 ? {} : { "next-id": nextId }) };
}

function putFirewallOptions(call: Call): null {
  const { region } = call;
  requireQuorum(region);
  const cluster = clusterOf(region);
  const options: Record<string, string> = { ...cluster.firewallOptions };
  for (const key of Object.keys(call.params)) {
    if (key !== "delete" && key !== "digest") options[key] = text(call, key) ?? "";
  }
  for (const key of splitList(text(call, "delete") ?? "")) delete options[key];
  region.store.commit({ op: "cluster-firewall-options", user: call.authUser, detail: options }, [
    ["cluster", "cluster", { ...cluster, firewallOptions: options }],
  ]);
  return null;
}

export const clusterHandlers: Handlers = {
  "GET /version": ({ region }) => versionOf(region),
  "GET /access/permissions": permissionsOf,
  "GET /access/roles": ({ region }) =>
    region.store.all("role").map(({ roleid, privileges, special }) => ({
      roleid,
      privs: privileges.join(","),
      special: special ? 1 : 0,
    })),
  "GET /access/roles/{roleid}": (call) => {
    const role = call.region.store.get("role", required(call, "roleid"));
    if (role === undefined) throw new ApiError(500, `role '${required(call, "roleid")}' does not exist\n`);
    return Object.fromEntries(role.privileges.map((name) => [name, 1]));
  },
  "GET /access/acl": ({ region, authUser }) =>
    region.store
      .all("acl")
      .filter(
        ({ path }) =>
          region.permissions.has(authUser, path, "Permissions.Modify") ||
          region.permissions.has(authUser, "/access", "Sys.Audit"),
      )
      .map(({ path, type, ugid, roleid, propagate }) => ({
        path,
        type,
        ugid,
        roleid,
        propagate: propagate ? 1 : 0,
      })),
  "POST /access/vncticket": () => {
    throw new ApiError(401, "permission denied - invalid VNC ticket\n");
  },
  "GET /cluster/resources": clusterResources,
  "GET /cluster/nextid": nextId,
  "GET /cluster/status": clusterStatus,
  "GET /cluster/tasks": clusterTasks,
  "GET /cluster/options": clusterOptions,
  "GET /cluster/firewall/options": ({ region }) =>
    Object.fromEntries(
      Object.entries(clusterOf(region).firewallOptions).map(([k, v]) => [k, /^\d+$/.test(v) ? Number(v) : v]),
    ),
  "PUT /cluster/firewall/options": putFirewallOptions,
};
