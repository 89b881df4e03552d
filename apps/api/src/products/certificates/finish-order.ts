import type { CertificateFacts } from "@kule/certificates/certificate-facts";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import { renewalTime } from "@kule/rules/certificates/renewal";
import type { Tx } from "../../platform/database.ts";
import { newId } from "../../platform/ids.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { useMaterial } from "./material-store.ts";
import { type OrderRow, removeChallenges } from "./order-store.ts";
import type { CertificateRow } from "./store.ts";

/** Puts what the CA has issued into use, and plans its renewal. With the certificate's row locked. */
export async function finishOrder(
  tx: Tx,
  certificate: CertificateRow,
  order: OrderRow,
  facts: CertificateFacts,
): Promise<void> {
  const { id, organisation_id } = certificate;
  const { sealed_key: sealedKey, sealed_to: sealedTo, version } = order;
  if (sealedKey === null || sealedTo === null) throw new Error(`the order of ${id} has no key`);
  await removeChallenges(tx, certificate);
  await tx
    .deleteFrom("certificate_order")
    .where("organisation_id", "=", organisation_id)
    .where("certificate_id", "=", id)
    .execute();
  await useMaterial(tx, certificate, { version, facts, sealedKey, sealedTo, warnings: [] });
  const lifetime = { notBeforeMs: facts.notBefore.getTime(), notAfterMs: facts.notAfter.getTime() };
  await tx
    .updateTable("certificate")
    .set({
      renew_at: new Date(renewalTime(lifetime, null, certificate.renewal_share)),
      window_start: null,
      window_end: null,
      window_asked_at: null,
      failed_attempts: 0,
      next_attempt_at: null,
      ca_retry_at: null,
      last_error: null,
      warned_days: null,
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
  noteSystemChange(tx, certificate, "certificate.issue", {
    version,
    fingerprint_sha256: facts.fingerprintSha256,
    not_after: facts.notAfter.toISOString(),
  });
}

/** Notes in the audit trail what Kule itself did with a certificate, in the transaction that did it. */
export function noteSystemChange(
  tx: Tx,
  { id, organisation_id, region }: Pick<CertificateRow, "id" | "organisation_id" | "region">,
  action: SystemAuditAction,
  details: Readonly<Record<string, unknown>>,
): void {
  const row = tx.insertInto("audit").values({
    id: newId("aud"),
    organisation_id,
    region,
    actor_type: "system",
    actor_id: null,
    actor_name: "certificates",
    action,
    resource: id,
    outcome: "succeeded",
    http_status: 200,
    code: null,
    request_id: newId("req"),
    source_address: null,
    details: JSON.stringify(details),
  });
  sendAhead(tx, row);
}
