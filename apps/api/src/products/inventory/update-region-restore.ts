import { invalidState } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { listRegionRestores, viewRegionRestore } from "./restore-store.ts";

/** An operator goes on after a restore: with a scan that is not complete, or since what differs was worked through. */
export async function updateRegionRestore(
  request: ApiRequest<"updateRegionRestore">,
  tx: Tx,
  { slug }: { readonly slug: string },
): Promise<Outcome> {
  const { accept_incomplete_scan: accepts = false, ended = false } = request.body;
  const region = await tx
    .selectFrom("region")
    .select(["restored_at", "restore_scanned_at", "restore_ended_at"])
    .where("slug", "=", slug)
    .forUpdate()
    .executeTakeFirst();
  if (region === undefined) throw new NotFound();
  if (region.restored_at === null)
    throw new Conflict(
      invalidState(
        "region_was_restored",
        `Region ${slug} does not wait for anything: no restore was marked`,
        {
          resource: slug,
          fix: "After a restore of the database run kule-server restored",
        },
      ),
    );
  if (ended && region.restore_scanned_at === null)
    throw new Conflict(
      invalidState(
        "region_scanned_since_restore",
        `Region ${slug} was not scanned since the restore, so it is not known what differs`,
        {
          resource: slug,
          fix: `Wait for a complete scan; when a node is lost, PATCH /regions/${slug}/restore {"accept_incomplete_scan":true}`,
        },
      ),
    );
  await tx
    .updateTable("region")
    .set({
      ...(accepts ? { restore_takes_incomplete: true } : {}),
      ...(ended ? { restore_ended_at: sql<Date>`coalesce(restore_ended_at, clock_timestamp())` } : {}),
    })
    .where("slug", "=", slug)
    .execute();
  // Jobs that waited for it can be claimed; those of the control plane's own are announced under the empty name.
  if (ended) {
    await sql`select pg_notify('kule_region', ${slug})`.execute(tx);
    await sql`select pg_notify('kule_region', '')`.execute(tx);
  }
  const [row] = await listRegionRestores(tx, slug);
  if (row === undefined) throw new Error("a region that was just restored cannot be found");
  return { reply: reply(200, viewRegionRestore(row)), resource: slug };
}
