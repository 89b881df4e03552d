import type { AuditAction } from "@kule/contract/generated/operations";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import type { ServerOwner } from "@kule/rules/servers/owner";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type JobRow, lockOpenJobs, regionOfJob, requeueEndedJob } from "../../platform/jobs.ts";
import type { Settings } from "../../platform/settings.ts";
import { sendAhead } from "../../platform/transaction.ts";
import type { Change } from "./answers.ts";
import type { ChangeOfServer } from "./change-of-server.ts";
import { addServer } from "./create-server.ts";
import { removeServer } from "./delete-server.ts";
import type { ServerHooks } from "./hooks.ts";
import { checkPlace } from "./placement.ts";
import { changeSize } from "./resize-server.ts";
import { lockServer } from "./store.ts";

/*
 * The servers that a product runs on: it makes, resizes and deletes them here, in its own transaction and by the way of
 * `POST /servers` and the others. Nobody else changes them. Each change is a row of the audit trail that names the owner.
 */

/** What changes a server of its own, and who asked for that. */
export type ByOwner = {
  readonly organisationId: string;
  readonly owner: ServerOwner;
  readonly requestedBy: Schemas["Actor"];
  readonly requestId: string;
  readonly settings: Pick<Settings, "removalBufferSeconds">;
};

/**
 * @returns the new server's id, and the job that creates its VM
 * @throws Invalid for what the body names wrongly, with the fields of the body of `POST /servers`
 * @throws Conflict as `POST /servers` does
 */
export async function createManagedServer(
  by: ByOwner,
  tx: Tx,
  body: RequestBody<"createServer">,
  hooks: readonly ServerHooks[],
): Promise<{ readonly id: string; readonly job: JobRow }> {
  const { errors, placement } = await checkPlace(
    { db: tx, organisationId: by.organisationId, isOwners: true },
    body,
    hooks,
  );
  if (placement === null) throw new Invalid(errors);
  const created = await addServer({ ...changeBy(by), body }, tx, placement, hooks);
  if ("refusals" in created) throw new Error("what was no dry run was answered as one");
  const { id, job, region } = created;
  note(by, tx, "server.create", { id, region, job, more: { name: body.name, package: body.package } });
  return { id, job };
}

/** @throws Conflict as `POST /servers/{server_id}/resize` does */
export async function resizeManagedServer(
  by: ByOwner,
  tx: Tx,
  id: string,
  body: RequestBody<"resizeServer">,
): Promise<JobRow> {
  await requireOwn(by, tx, id);
  const job = written(await changeSize(changeBy(by), tx, id, body));
  note(by, tx, "server.resize", { id, region: regionOfJob(job), job, more: body });
  return job;
}

/**
 * @param purge without a removal buffer
 * @throws Conflict as `DELETE /servers/{server_id}` does
 */
export async function deleteManagedServer(
  by: ByOwner,
  tx: Tx,
  id: string,
  { purge }: { readonly purge: boolean },
): Promise<JobRow> {
  await requireOwn(by, tx, id);
  const job = written(await removeServer(changeBy(by), tx, id, purge));
  note(by, tx, "server.delete", { id, region: regionOfJob(job), job, more: { purge } });
  return job;
}

/**
 * Tries again to destroy a server whose last job to destroy it has failed.
 *
 * @param afterSeconds only if it has failed so long ago
 * @returns null when that is on its way, too recent, or prevented by a lock of the operators
 */
export async function destroyManagedServerAgain(
  by: ByOwner,
  tx: Tx,
  id: string,
  afterSeconds: number,
): Promise<JobRow | null> {
  await requireOwn(by, tx, id);
  const server = await lockServer(tx, by.organisationId, id);
  if (server === null || server.status !== "deleting" || server.locked_at !== null) return null;
  const { queued, running } = await lockOpenJobs(tx, by.organisationId, id);
  if (queued !== null || running !== null) return null;
  const failed = await tx
    .selectFrom("job")
    .selectAll()
    .where("organisation_id", "=", by.organisationId)
    .where("resource_id", "=", id)
    .where("kind", "=", "ServerDestroy")
    .where("status", "in", ["failed", "cancelled"])
    .where("finished_at", "<=", sql<Date>`clock_timestamp() - make_interval(secs => ${afterSeconds})`)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  if (failed === undefined) return null;
  const job = await requeueEndedJob(tx, failed);
  await tx
    .updateTable("server")
    .set({ status_code: null, status_message: null, status_job_id: null })
    .where("organisation_id", "=", by.organisationId)
    .where("id", "=", id)
    .execute();
  // As a retry by anybody else: the trail has the end of each attempt.
  note(by, tx, "job.retry", { id: job.id, region: regionOfJob(job), job, more: { server: id } });
  return job;
}

/** Writes the owner's new name to its servers, which show it. */
export async function renameOwnerOfServers(
  tx: Tx,
  organisationId: string,
  { id, name }: ServerOwner,
): Promise<void> {
  await tx
    .updateTable("server")
    .set({ managed_by_name: name })
    .where("organisation_id", "=", organisationId)
    .where("managed_by_type", "is not", null)
    .where("managed_by_id", "=", id)
    .where("deleted_at", "is", null)
    .execute();
}

const changeBy = ({ organisationId, owner, requestedBy, requestId, settings }: ByOwner): ChangeOfServer => ({
  organisationId,
  owner,
  id: requestId,
  caller: { actor: requestedBy },
  deps: { settings },
  dryRun: false,
  // The owner has checked its own.
  checkGeneration: () => {},
});

/** @throws Error for a server of somebody else: a defect of the product */
async function requireOwn({ organisationId, owner }: ByOwner, tx: Tx, id: string): Promise<void> {
  const row = await tx
    .selectFrom("server")
    .select("managed_by_id")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (row?.managed_by_id !== owner.id) throw new Error(`${id} is no server of ${owner.id}`);
}

function written(change: Change): JobRow {
  if ("refusals" in change) throw new Error("what was no dry run was answered as one");
  return change.job;
}

type Note = {
  readonly id: string;
  readonly region: string;
  readonly job: JobRow;
  readonly more: Readonly<Record<string, unknown>>;
};

function note(
  { organisationId, owner, requestedBy: actor, requestId }: ByOwner,
  tx: Tx,
  action: AuditAction,
  { id, region, job, more }: Note,
): void {
  const row = tx.insertInto("audit").values({
    id: newId("aud"),
    organisation_id: organisationId,
    region,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    action,
    resource: id,
    outcome: "succeeded",
    http_status: 202,
    code: null,
    request_id: requestId,
    source_address: null,
    details: JSON.stringify({ ...more, job: job.id, managed_by: owner }),
  });
  sendAhead(tx, row);
}
