import type { Schemas } from "@kule/contract/schemas";
import { absoluteName } from "@kule/rules/domains/record-name";
import type { Database, Tx } from "../../platform/database.ts";
import { type RecordSetRow, recordSetEtag } from "./record-store.ts";
import { readServerAddresses, type ServerAddresses } from "./server-addresses.ts";

type Owner = { readonly name: string };

export function viewRecordSet(
  row: RecordSetRow,
  { name: zone }: Owner,
  addresses: ServerAddresses,
): Schemas["RecordSet"] {
  return {
    name: row.name,
    fqdn: absoluteName(row.name, zone).slice(0, -1),
    type: row.type as Schemas["RecordType"],
    ttl: row.ttl_seconds,
    values: row.values,
    addresses: row.server_id === null ? null : [...addresses.of(row.server_id, row.type)],
    managed_by: row.managed_by,
    comment: row.comment,
    etag: recordSetEtag(row),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Of some record sets at once; one more query when one of them follows a server. */
export async function viewRecordSets(
  db: Database | Tx,
  owner: Owner & { readonly organisation_id: string },
  rows: readonly RecordSetRow[],
): Promise<Schemas["RecordSet"][]> {
  const servers = [...new Set(rows.flatMap(({ server_id: id }) => (id === null ? [] : [id])))];
  const addresses = await readServerAddresses(db, owner.organisation_id, servers);
  return rows.map((row) => viewRecordSet(row, owner, addresses));
}
