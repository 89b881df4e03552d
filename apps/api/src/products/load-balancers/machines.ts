import { loadBalancerImage } from "@kule/rules/catalog/images";
import { nextToResize } from "@kule/rules/load-balancers/resize";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { newIdBody } from "../../platform/ids.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import type { Requester } from "../networks/index.ts";
import {
  type ByOwner,
  createManagedServer,
  deleteManagedServer,
  destroyManagedServerAgain,
  resizeManagedServer,
  type ServerHooks,
} from "../servers/index.ts";
import type { LoadBalancerDetails, LoadBalancerRow } from "./store.ts";
import { resizedMachines } from "./view.ts";

type Owner = Pick<
  LoadBalancerRow,
  "id" | "organisation_id" | "region" | "name" | "subnet_id" | "package" | "ha" | "public_ip_id"
>;

export type MachineWork = {
  readonly by: Requester;
  readonly settings: Pick<Settings, "removalBufferSeconds">;
  readonly hooks: readonly ServerHooks[];
};

const byOwner = (owner: Owner, { by, settings }: Omit<MachineWork, "hooks">): ByOwner => ({
  organisationId: owner.organisation_id,
  owner: { type: "load_balancer", id: owner.id, name: owner.name },
  requestedBy: by.requestedBy,
  requestId: by.requestId,
  settings,
});

/** The public address that its server is to have. Those of a pair share theirs, and none of them is given it. */
const ofServer = ({ ha, public_ip_id }: Owner): string | null => (ha ? null : public_ip_id);

/**
 * Makes the server of a slot, whose row must exist. The load balancer's row must be locked.
 *
 * @param publicIp of the new server, as `POST /servers` has it
 * @throws Invalid, Conflict as `POST /servers` does
 */
export async function makeMachine(
  tx: Tx,
  owner: Owner,
  slot: 1 | 2,
  work: MachineWork,
  publicIp: string | null = ofServer(owner),
): Promise<JobRow> {
  const { id, job } = await createManagedServer(
    byOwner(owner, work),
    tx,
    {
      name: await freeName(tx, owner, slot),
      region: owner.region,
      image: loadBalancerImage,
      package: owner.package,
      subnet_id: owner.subnet_id,
      ...(publicIp === null ? {} : { public_ip: publicIp }),
    },
    work.hooks,
  );
  await tx
    .updateTable("load_balancer_machine")
    .set({ server_id: id, observed_generation: 0, since: sql<Date>`clock_timestamp()`, restarted_at: null })
    .where("organisation_id", "=", owner.organisation_id)
    .where("load_balancer_id", "=", owner.id)
    .where("slot", "=", slot)
    .execute();
  return job;
}

/** What all its servers begin with: names of servers have at most 63 characters. */
function stemOf(name: string): string {
  let end = Math.min(name.length, 48);
  while (name[end - 1] === "-") end -= 1;
  return name.slice(0, end);
}
export const machineName = (name: string, slot: number): string => `${stemOf(name)}-${slot}`;

/** `<name>-1`; where a server of the organisation has that name, one that nobody has. */
async function freeName(tx: Tx, { organisation_id, region, name }: Owner, slot: number): Promise<string> {
  const wanted = machineName(name, slot);
  const namesake = await tx
    .selectFrom("server")
    .select("id")
    .where("organisation_id", "=", organisation_id)
    .where("region", "=", region)
    .where("name", "=", wanted)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return namesake === undefined ? wanted : `${wanted}-${newIdBody().slice(-8)}`;
}

/**
 * Destroys the server of a slot, which has none then. What keeps its server from it, such as a lock of the operators, keeps
 * nothing else: the next pass of the worker tries again.
 *
 * @param again after how many seconds it is tried again where the job to destroy it has failed
 * @returns null when that is on its way already, or is not possible now
 */
export async function destroyServer(
  tx: Tx,
  owner: Owner,
  serverId: string,
  work: Omit<MachineWork, "hooks">,
  again = 0,
): Promise<JobRow | null> {
  const retried = await destroyManagedServerAgain(byOwner(owner, work), tx, serverId, again);
  if (retried !== null) return retried;
  try {
    return await deleteManagedServer(byOwner(owner, work), tx, serverId, { purge: true });
  } catch (error) {
    // Preconditions are checked before anything is written.
    if (error instanceof Conflict) return null;
    throw error;
  }
}

/**
 * The slot's server is destroyed, and another one is made at once; with a public address only when the old one has let go of
 * it, which the worker waits for.
 *
 * @returns the job of the new server's creation; null when it has to wait, or when the old one cannot be destroyed now
 */
export async function replaceMachine(
  tx: Tx,
  owner: Owner,
  { slot, server_id: serverId }: { readonly slot: 1 | 2; readonly server_id: string },
  work: MachineWork,
): Promise<{ readonly isReplaced: boolean; readonly job: JobRow | null }> {
  const destroyed = await destroyServer(tx, owner, serverId, work);
  if (destroyed === null) return { isReplaced: false, job: null };
  await tx
    .updateTable("load_balancer_machine")
    .set({ server_id: null, observed_generation: 0, since: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", owner.organisation_id)
    .where("load_balancer_id", "=", owner.id)
    .where("slot", "=", slot)
    .execute();
  if (ofServer(owner) !== null) return { isReplaced: true, job: null };
  return { isReplaced: true, job: await makeMachine(tx, owner, slot, work) };
}

/**
 * Begins to resize the machine whose turn it is to the load balancer's package. Its disk stays: it stores nothing, and the next
 * package may be a smaller one. The load balancer's row must be locked.
 *
 * @returns null when it is nobody's turn, or the server is busy with something else
 * @throws Conflict as `POST /servers/{server_id}/resize` does otherwise, before anything is written
 */
export async function resizeNext(
  tx: Tx,
  row: LoadBalancerDetails,
  work: Omit<MachineWork, "hooks">,
): Promise<JobRow | null> {
  const slot = nextToResize(resizedMachines(row));
  const serverId = row.machines.find((machine) => machine.slot === slot)?.server_id ?? null;
  if (serverId === null) return null;
  const body = { package: row.package, allow_restart: true, grow_disk: false };
  try {
    return await resizeManagedServer(byOwner(row, work), tx, serverId, body);
  } catch (error) {
    if (error instanceof Conflict && error.code === "invalid_state") return null;
    throw error;
  }
}

/** Whether a new machine could have the load balancer's public address now: no server has it, or is letting go of it. */
export async function isAddressFree(tx: Tx, owner: Owner): Promise<boolean> {
  const publicIp = ofServer(owner);
  if (publicIp === null) return true;
  const row = await tx
    .selectFrom("public_ip")
    .select("id")
    .where("organisation_id", "=", owner.organisation_id)
    .where("id", "=", publicIp)
    .where("server_id", "is", null)
    .where("held_by", "is", null)
    .executeTakeFirst();
  return row !== undefined;
}

/** The servers that are its own, of its machines and of former ones, until they are destroyed. */
export async function serversOf(
  tx: Tx,
  { organisation_id, id }: Pick<LoadBalancerRow, "organisation_id" | "id">,
): Promise<{ readonly id: string; readonly status: string }[]> {
  return tx
    .selectFrom("server")
    .select(["id", "status"])
    .where("organisation_id", "=", organisation_id)
    .where("managed_by_type", "=", "load_balancer")
    .where("managed_by_id", "=", id)
    .where("deleted_at", "is", null)
    .orderBy("id")
    .execute();
}
