import { printZoneFile } from "@kule/rules/domains/print-zone-file";
import type { RecordSet } from "@kule/rules/domains/record-set";
import type { ApiRequest } from "../../platform/api-request.ts";
import { type RecordSetRow, recordSetsOf, toRecordSet } from "./record-store.ts";
import { readServerAddresses, type ServerAddresses } from "./server-addresses.ts";
import type { DomainRow } from "./store.ts";

/** The domain's record sets as a zone file, with the present addresses of those that follow a server. */
export async function exportZoneFile(
  request: ApiRequest<"exportZoneFile">,
  domain: DomainRow,
): Promise<Response> {
  const rows = await recordSetsOf(request.db, domain, null);
  const servers = [...new Set(rows.flatMap(({ server_id: id }) => (id === null ? [] : [id])))];
  const addresses = await readServerAddresses(request.db, domain.organisation_id, servers);
  const text = printZoneFile(
    {
      name: domain.name,
      defaultTtlSeconds: domain.default_ttl_seconds,
      soa: null,
      nameServers: domain.name_servers.map((name) => `${name}.`),
    },
    rows.map((row) => servedRecordSet(row, addresses)),
  );
  return new Response(text, {
    headers: {
      "Content-Type": "text/plain; charset=utf-8",
      "Content-Disposition": `attachment; filename="${domain.name}.zone"`,
    },
  });
}

/** With addresses instead of the value auto:srv_…, as the name servers have it; without values when there is none. */
export function servedRecordSet(row: RecordSetRow, addresses: ServerAddresses): RecordSet {
  const recordSet = toRecordSet(row);
  if (row.server_id === null) return recordSet;
  return { ...recordSet, values: addresses.of(row.server_id, row.type) };
}
