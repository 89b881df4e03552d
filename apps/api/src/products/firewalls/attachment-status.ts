import type { Schemas } from "@kule/contract/schemas";
import { type RawBuilder, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import type { FirewallDetails, StoredAttachment } from "./store.ts";

export type AttachmentState = {
  readonly servers: number;
  readonly status: Schemas["FirewallAttachment"]["status"];
};

/** How many servers each attachment of these firewalls means, and whether they have what is wanted; one statement. */
export async function attachmentStates(
  db: Database | Tx,
  organisationId: string,
  firewalls: readonly FirewallDetails[],
): Promise<ReadonlyMap<string, AttachmentState>> {
  const all = firewalls.flatMap(({ region, attachments }) => attachments.map((each) => ({ region, each })));
  if (all.length === 0) return new Map();
  const { rows } = await sql<{
    id: string;
    servers: number;
    is_pending: boolean;
    is_failed: boolean;
  }>`${sql.join(
    all.map(
      ({ region, each }) => sql`
        select ${each.id}::text as id, count(*)::integer as servers,
               coalesce(bool_or(server.filter_wanted <> server.filter_applied), false) as is_pending,
               coalesce(bool_or(server.filter_failed), false) as is_failed
          from server
         where server.organisation_id = ${organisationId} and server.region = ${region}
           and server.deleted_at is null and ${meant(each)}`,
    ),
    sql` union all `,
  )}`.execute(db);
  return new Map(
    rows.map(({ id, servers, is_pending, is_failed }) => [
      id,
      { servers, status: is_failed ? "failed" : is_pending ? "pending" : "applied" },
    ]),
  );
}

function meant({ server_id, subnet_id, label_selector }: StoredAttachment): RawBuilder<boolean> {
  if (server_id !== null) return sql<boolean>`server.id = ${server_id}`;
  if (subnet_id !== null)
    return sql<boolean>`exists (select from nic where nic.organisation_id = server.organisation_id
                                   and nic.server_id = server.id and nic.subnet_id = ${subnet_id})`;
  return sql<boolean>`(server.managed_by_type is null and ${labelCondition(label_selector ?? "", "server.labels")})`;
}
