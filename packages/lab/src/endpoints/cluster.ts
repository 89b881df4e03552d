import { ApiError, badParameters } from "../api-error.ts";
import { type Call, type Handlers, number, required, text } from "../call.ts";
import type { PoolDocument, VmDocument } from "../documents.ts";
import { clusterOf, nodesOf, type Region, requireQuorum } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";
import { taskState } from "../tasks/worker.ts";

const RELEASES = {
  "8.2": { version: "8.2.4", release: "8.2", repoid: "faa83925c9641325" },
  "8.4": { version: "8.4.14", release: "8.4", repoid: "a7fbc1c3e6bfb6a4" },
  "9.0": { version: "9.0.3", release: "9.0", repoid: "025864202ebb6109" },
  "9.2": { version: "9.2.11", release: "9.2", repoid: "14a22df3c0e1a7b2" },
} as const;

/** What GET /version says. */
export function versionOf({ version }: Region): Record<string, string> {
  return { ...RELEASES[version], console: "html5" };
}

/** Name and status come from the last broadcast, up to ten seconds old; id, node, lock, tags and pool are fresh. */
function vmRow(call: Call, vm: VmDocument, pools: readonly PoolDocument[]): Record<string, unknown> {
  const { region } = call;
  const node = region.store.get("node", vm.node);
  const row = node?.online === false ? undefined : region.rrd.row(vm.vmid);
  const pool = pools.find(({ vms }) => vms.includes(vm.vmid));
  const lock = vm.temporary ? "clone" : vm.config.lock;
  const fresh = {
    id: `qemu/${vm.vmid}`,
    type: "qemu",
    vmid: vm.vmid,
    node: vm.node,
    ...(lock === undefined ? {} : { lock }),
    ...(vm.temporary || vm.config.tags === undefined ? {} : { tags: vm.config.tags }),
    ...(pool === undefined ? {} : { pool: pool.poolid }),
  };
  if (row === undefined) return { ...fresh, status: "unknown", template: 0 };
  const { startedAt, ...rest } = row;
  const uptime = startedAt === null ? 0 : Math.floor((region.runtime.nowMs() - startedAt) / 1000);
  return {
    ...fresh,
    ...rest,
    uptime,
    cpu: 0,
    mem: row.status === "running" ? Math.round(row.maxmem * 0.35) : 0,
    disk: 0,
    netin: 0,
    netout: 0,
    diskread: 0,
    diskwrite: 0,
  };
}

function resources(call: Call): unknown[] {
  const { region, authUser } = call;
  const { permissions, store } = region;
  const wanted = text(call, "type");
  const wants = (type: string): boolean => wanted === undefined || wanted === type;
  const pools = store.all("pool");
  const rows: unknown[] = [];
  if (wanted === undefined || wanted === "pool") {
    for (const pool of pools) {
      if (permissions.has(authUser, `/pool/${pool.poolid}`, "Pool.Audit")) {
        rows.push({ id: `/pool/${pool.poolid}`, type: "pool", pool: pool.poolid });
      }
    }
  }
  if (wants("vm")) {
    for (const vm of store.all("vm")) {
      if (permissions.has(authUser, `/vms/${vm.vmid}`, "VM.Audit")) rows.push(vmRow(call, vm, pools));
    }
  }
  for (const node of nodesOf(region)) {
    if (wants("node")) {
      const base = {
        id: `node/${node.name}`,
        type: "node",
        node: node.name,
        status: node.online ? "online" : "offline",
      };
      const audit = permissions.has(authUser, `/nodes/${node.name}`, "Sys.Audit");
      const figures = {
        maxcpu: node.cores,
        maxmem: node.memoryBytes,
        cpu: 0.05,
        mem: Math.round(node.memoryBytes / 4),
        uptime: 86_400,
        level: "",
      };
      rows.push(audit && node.online ? { ...base, ...figures } : base);
    }
    if (wants("storage")) {
      for (const storage of store.all("storage")) {
        if (!permissions.has(authUser, `/storage/${storage.storage}`, "Datastore.Audit")) continue;
        const used = store
          .all("volume")
          .filter((v) => v.storage === storage.storage)
          .reduce((sum, v) => sum + v.sizeBytes, 0);
        rows.push({
          id: `storage/${node.name}/${storage.storage}`,
          type: "storage",
          storage: storage.storage,
          node: node.name,
          status: node.online ? "available" : "unknown",
          shared: storage.shared ? 1 : 0,
          plugintype: storage.type,
          content: storage.content.join(","),
          maxdisk: storage.totalBytes,
          disk: used,
        });
      }
    }
    if (wants("sdn") && permissions.has(authUser, "/sdn/zones/localnetwork", "SDN.Audit")) {
      rows.push({
        id: `sdn/${node.name}/localnetwork`,
        type: "sdn",
        sdn: "localnetwork",
        node: node.name,
        status: "ok",
      });
    }
  }
  return rows;
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
  "GET /cluster/resources": resources,
  "GET /cluster/nextid": nextId,
  "GET /cluster/status": clusterStatus,
  "GET /cluster/tasks": clusterTasks,
  "GET /cluster/options": ({ region }) => ({
    keyboard: "en-us",
    "next-id": { lower: clusterOf(region).nextIdLower, upper: clusterOf(region).nextIdUpper },
  }),
  "GET /cluster/firewall/options": ({ region }) =>
    Object.fromEntries(
      Object.entries(clusterOf(region).firewallOptions).map(([k, v]) => [k, /^\d+$/.test(v) ? Number(v) : v]),
    ),
  "PUT /cluster/firewall/options": putFirewallOptions,
};
