import type { RequestQuery } from "@kule/contract/schemas";
import type { Domain } from "@kule/database/generated/rows";
import { readDomainName } from "@kule/rules/domains/domain-name";
import { type RawBuilder, type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { isId } from "../../platform/ids.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, inOrder, type Page } from "../../platform/pagination.ts";
import { searchCondition } from "../../platform/search-condition.ts";

export type DomainRow = Selectable<Domain>;

/** A domain with the open job that applies its last change. */
export type DomainDetails = DomainRow & { readonly job_id: string | null };

// A queued job applies what a running one does not.
const openJob = sql<string | null>`(
  select j.id from job j
   where j.organisation_id = domain.organisation_id and j.resource_id = domain.id and j.status in ('queued', 'running')
   order by j.status limit 1)`;

function domainDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("domain")
    .selectAll("domain")
    .select(openJob.as("job_id"))
    .where("domain.organisation_id", "=", organisationId);
}

export function listDomains(
  db: Database,
  organisationId: string,
  query: RequestQuery<"listDomains">,
): Promise<Page<DomainDetails>> {
  let rows = domainDetails(db, organisationId);
  if (query.name !== undefined) rows = rows.where("domain.name", "=", canonicalName(query.name) ?? "");
  if (query.q !== undefined)
    rows = rows.where(searchCondition(query.q, { texts: ["domain.name"], labels: "domain.labels" }));
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "domain.labels"));
  return fetchPage(rows, inOrder("domains", query, "domain"));
}

/** @param idOrName an id, or the name in whatever form people write it */
export async function findDomain(
  db: Database | Tx,
  organisationId: string,
  idOrName: string,
): Promise<DomainDetails | null> {
  const rows = domainDetails(db, organisationId);
  if (isId("dom", idOrName)) return (await rows.where("domain.id", "=", idOrName).executeTakeFirst()) ?? null;
  const name = canonicalName(idOrName);
  if (name === null) return null;
  return (await rows.where("domain.name", "=", name).executeTakeFirst()) ?? null;
}

function canonicalName(text: string): string | null {
  const reading = readDomainName(text, { mayBeReverse: true });
  return reading.ok ? reading.name : null;
}

/** The domain under its row lock: only the holder changes it and its record sets. */
export async function lockDomain(tx: Tx, organisationId: string, id: string): Promise<DomainRow | null> {
  const row = await tx
    .selectFrom("domain")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** The domain as this transaction has written it. */
export async function writtenDomain(tx: Tx, organisationId: string, id: string): Promise<DomainDetails> {
  const row = await findDomain(tx, organisationId, id);
  if (row === null) throw new Error(`domain ${id} went away while it was written`);
  return row;
}

type OwnChanges = Partial<
  Pick<DomainRow, "description" | "protect_delete" | "default_ttl_seconds" | "status">
> & {
  readonly labels?: string;
  readonly deletion_requested_at?: RawBuilder<Date> | null;
  readonly purge_at?: RawBuilder<Date> | null;
};

/** Changes what the provider has no part in: a domain that was up to date stays so. */
export async function changeDomainRow(
  tx: Tx,
  organisationId: string,
  id: string,
  changes: OwnChanges,
): Promise<void> {
  await tx
    .updateTable("domain")
    .set({
      ...changes,
      generation: sql<number>`generation + 1`,
      observed_generation: sql<number>`case when observed_generation = generation then generation + 1
        else observed_generation end`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** Its changes are on their way again, after a job that has failed. What is being deleted, or waits for it, stays so. */
export async function markPending(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx
    .updateTable("domain")
    .set({
      status: sql<string>`case when status in ('deleting', 'pending_deletion') then status
        when observed_generation = 0 then 'provisioning' else 'updating' end`,
      status_code: null,
      status_message: null,
      status_job_id: null,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}

/** Its organisation still sees it, with its record sets, as an ended claim. */
export async function keepAsLost(
  tx: Tx,
  { organisation_id, id }: Pick<DomainRow, "organisation_id" | "id">,
): Promise<void> {
  await tx
    .updateTable("domain")
    .set({
      status: "lost",
      deletion_requested_at: null,
      purge_at: null,
      dnssec_enabled: false,
      ds_records: [],
      drift: null,
      status_code: null,
      status_message: null,
      status_job_id: null,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}

/** With its record sets. */
export async function deleteDomainRow(tx: Tx, organisationId: string, id: string): Promise<void> {
  await tx.deleteFrom("domain").where("organisation_id", "=", organisationId).where("id", "=", id).execute();
}
