import type { RequestQuery } from "@kule/contract/schemas";
import type { Audit } from "@kule/database/generated/rows";
import type { Selectable } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { fetchPage, type Page, type Paging } from "../../platform/pagination.ts";
import { timeOf } from "../../platform/time-parameter.ts";

export type AuditRow = Selectable<Audit>;

/** @param organisationId null for all of the installation */
export function listAudit(
  db: Database,
  organisationId: string | null,
  query: RequestQuery<"listAudit">,
): Promise<Page<AuditRow>> {
  let rows =
    organisationId === null
      ? systemQuery(db, "operators see the whole audit trail").selectFrom("audit")
      : db.selectFrom("audit").where("organisation_id", "=", organisationId);
  if (query.action !== undefined) rows = rows.where("action", "=", query.action);
  if (query.resource !== undefined) rows = rows.where("resource", "=", query.resource);
  if (query.actor !== undefined) rows = rows.where("actor_id", "=", query.actor);
  // One value, for which there is an index in the order of the list. Entries cannot be looked for by their identifiers alone
  // (`oneOf`), since the key of the table begins with the time.
  if (query.outcome !== undefined) rows = rows.where("outcome", "=", query.outcome);
  if (query.from !== undefined) rows = rows.where("at", ">=", timeOf("from", query.from));
  if (query.to !== undefined) rows = rows.where("at", "<", timeOf("to", query.to));
  const paging: Paging = {
    list: "audit",
    limit: query.limit ?? 50,
    cursor: query.cursor,
    direction: "desc",
    keys: [
      { column: "audit.at", kind: "time" },
      { column: "audit.id", kind: "text" },
    ],
  };
  return fetchPage(rows.selectAll(), paging);
}
