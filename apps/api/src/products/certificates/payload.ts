import type { PayloadOf } from "@kule/contract/schemas";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { sealingContext } from "./material-store.ts";

/** What the region makes a key and a request of, from the present order. */
export async function renderCertificatePayload(
  tx: Tx,
  job: JobRow,
): Promise<PayloadOf<"CertificateRequest">> {
  const row = await tx
    .selectFrom("certificate")
    .innerJoin("certificate_order", (join) =>
      join
        .onRef("certificate_order.organisation_id", "=", "certificate.organisation_id")
        .onRef("certificate_order.certificate_id", "=", "certificate.id"),
    )
    .innerJoin("region", "region.slug", "certificate.region")
    .select(["certificate.id", "certificate.organisation_id", "certificate.domain_names"])
    .select(["certificate_order.version", "region.agent_public_key"])
    .where("certificate.organisation_id", "=", job.organisation_id)
    .where("certificate.id", "=", job.resource_id)
    .executeTakeFirst();
  if (row === undefined) throw new Error(`job ${job.id} has no order`);
  if (row.agent_public_key === null) throw new Error(`the region of ${row.id} has no key`);
  return {
    kind: "CertificateRequest",
    certificate: { id: row.id, organisation_id: row.organisation_id },
    version: row.version,
    domain_names: row.domain_names,
    public_key: row.agent_public_key,
    context: sealingContext(row.id, row.version),
  };
}
