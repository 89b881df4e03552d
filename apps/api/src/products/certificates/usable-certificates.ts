import type { UsableCertificate } from "@kule/rules/certificates/listener-certificates";
import type { Database, Tx } from "../../platform/database.ts";
import { certificatesById } from "./store.ts";
import { statusOf } from "./view.ts";

/** Those of the ids that are this organisation's, with what decides whether a listener can have them. */
export async function usableCertificates(
  db: Database | Tx,
  organisationId: string,
  ids: readonly string[],
): Promise<UsableCertificate[]> {
  const rows = await certificatesById(db, organisationId, ids);
  return rows.map((row) => ({
    id: row.id,
    organisationId,
    region: row.region,
    status: statusOf(row),
    domainNames: row.names ?? row.domain_names,
  }));
}
