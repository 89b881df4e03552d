import { failure } from "../api-error.ts";
import { type Call, flag, type Handlers, required, text } from "../call.ts";
import type { PoolDocument } from "../documents.ts";
import { requireQuorum } from "../region.ts";
import { splitList } from "../schema/property-schema.ts";
import type { DocumentChange } from "../store.ts";

function poolOf(call: Call): PoolDocument {
  const poolid = required(call, "poolid");
  const pool = call.region.store.get("pool", poolid);
  if (pool === undefined) throw failure(`pool '${poolid}' does not exist`);
  return pool;
}

function members(call: Call, pool: PoolDocument): unknown[] {
  const { region } = call;
  const type = text(call, "type");
  const vms = pool.vms.flatMap((vmid) => {
    const vm = region.store.get("vm", String(vmid));
    if (vm === undefined || (type !== undefined && type !== "qemu")) return [];
    const row = region.rrd.row(vmid);
    return [
      {
        id: `qemu/${vmid}`,
        type: "qemu",
        vmid,
        node: vm.node,
        status: row?.status ?? "unknown",
        ...(row === undefined ? {} : { name: row.name }),
      },
    ];
  });
  const storages = type !== undefined && type !== "storage" ? [] : pool.storages;
  return [...vms, ...storages.map((storage) => ({ id: `storage/${storage}`, type: "storage", storage }))];
}

function list(call: Call): unknown[] {
  const { region, authUser } = call;
  const only = text(call, "poolid");
  if (only !== undefined) {
    region.permissions.require(authUser, `/pool/${only}`, "Pool.Audit");
    const pool = poolOf(call);
    return [
      {
        poolid: pool.poolid,
        ...(pool.comment === null ? {} : { comment: pool.comment }),
        members: members(call, pool),
      },
    ];
  }
  return region.store
    .all("pool")
    .filter(({ poolid }) => region.permissions.has(authUser, `/pool/${poolid}`, "Pool.Audit"))
    .map(({ poolid, comment }) => ({ poolid, ...(comment === null ? {} : { comment }) }));
}

function create(call: Call): null {
  const { region } = call;
  requireQuorum(region);
  const poolid = required(call, "poolid");
  if (region.store.get("pool", poolid) !== undefined)
    throw failure(`create pool failed: pool '${poolid}' already exists`);
  const parent = poolid.includes("/") ? poolid.slice(0, poolid.lastIndexOf("/")) : undefined;
  if (parent !== undefined && region.store.get("pool", parent) === undefined) {
    throw failure(`create pool failed: parent '${parent}' of pool '${poolid}' does not exist`);
  }
  region.store.commit({ op: "pool-created", user: call.authUser, detail: { poolid } }, [
    ["pool", poolid, { poolid, comment: text(call, "comment") ?? null, vms: [], storages: [] }],
  ]);
  return null;
}

/**
 * Membership also needs the right to change permissions on each VM, which VM.Allocate includes: joining a
 * pool grants them.
 */
function update(call: Call): null {
  const { region, authUser } = call;
  requireQuorum(region);
  const pool = poolOf(call);
  const remove = flag(call, "delete");
  let vms = [...pool.vms];
  let storages = [...pool.storages];
  const changes = new Map<string, PoolDocument>();
  for (const vmid of splitList(text(call, "vms") ?? "").map(Number)) {
    region.permissions.requireAny(authUser, `/vms/${vmid}`, ["Permissions.Modify", "VM.Allocate"]);
    if (remove) {
      if (!vms.includes(vmid)) throw failure(`update pools failed: VM ${vmid} is not a pool member`);
      vms = vms.filter((id) => id !== vmid);
      continue;
    }
    if (vms.includes(vmid)) throw failure(`update pools failed: VM ${vmid} is already a pool member`);
    const other = region.store.all("pool").find((p) => p.poolid !== pool.poolid && p.vms.includes(vmid));
    if (other !== undefined) {
      if (!flag(call, "allow-move")) {
        throw failure(
          `update pools failed: VM ${vmid} belongs already to pool '${other.poolid}' and 'allow-move' is not set`,
        );
      }
      region.permissions.require(authUser, `/pool/${other.poolid}`, "Pool.Allocate");
      const base = changes.get(other.poolid) ?? other;
      changes.set(other.poolid, { ...base, vms: base.vms.filter((id) => id !== vmid) });
    }
    vms.push(vmid);
  }
  for (const storage of splitList(text(call, "storage") ?? "")) {
    region.permissions.requireAny(authUser, `/storage/${storage}`, [
      "Permissions.Modify",
      "Datastore.Allocate",
    ]);
    storages = remove ? storages.filter((name) => name !== storage) : [...new Set([...storages, storage])];
  }
  changes.set(pool.poolid, { ...pool, vms, storages, comment: text(call, "comment") ?? pool.comment });
  region.store.commit(
    { op: "pool-updated", user: authUser, detail: { poolid: pool.poolid, vms } },
    [...changes].map(([id, document]): DocumentChange => ["pool", id, document]),
  );
  return null;
}

function remove(call: Call): null {
  const { region } = call;
  requireQuorum(region);
  const pool = poolOf(call);
  if (region.store.all("pool").some(({ poolid }) => poolid.startsWith(`${pool.poolid}/`))) {
    throw failure(`delete pool failed: pool '${pool.poolid}' has sub pools`);
  }
  const alive = pool.vms.filter((vmid) => region.store.get("vm", String(vmid)) !== undefined);
  if (alive.length > 0)
    throw failure(`delete pool failed: pool '${pool.poolid}' is not empty (contains VM ${alive[0]})`);
  if (pool.storages.length > 0) {
    throw failure(
      `delete pool failed: pool '${pool.poolid}' is not empty (contains storage '${pool.storages[0]}')`,
    );
  }
  region.store.commit({ op: "pool-deleted", user: call.authUser, detail: { poolid: pool.poolid } }, [
    ["pool", pool.poolid, null],
  ]);
  return null;
}

export const poolHandlers: Handlers = {
  "GET /pools": list,
  "POST /pools": create,
  "PUT /pools": update,
  "DELETE /pools": remove,
  "GET /pools/{poolid}": (call) => {
    const pool = poolOf(call);
    return { ...(pool.comment === null ? {} : { comment: pool.comment }), members: members(call, pool) };
  },
  "PUT /pools/{poolid}": update,
  "DELETE /pools/{poolid}": remove,
};
