import type { Schemas } from "@kule/contract/schemas";
import { daysLeft } from "@kule/rules/certificates/expiry";
import { type CertificateType, certificateStatus } from "@kule/rules/certificates/status";
import type { CertificateUse } from "./hooks.ts";
import type { CertificateDetails } from "./store.ts";

/** A certificate as the contract shows it. */
export function viewCertificate(
  row: CertificateDetails,
  uses: readonly CertificateUse[] = [],
): Schemas["Certificate"] {
  const nowMs = row.read_at.getTime();
  const notAfterMs = row.not_after?.getTime() ?? null;
  return {
    id: row.id,
    name: row.name,
    region: row.region,
    type: row.type as CertificateType,
    status: statusOf(row),
    domain_names: row.domain_names,
    challenge: row.challenge as Schemas["Certificate"]["challenge"],
    renewal: viewRenewal(row),
    job_id: row.job_id,
    version: row.version,
    issuer: row.issuer,
    serial: row.serial,
    key_type: row.key_type,
    san: row.names ?? [],
    not_before: row.not_before?.toISOString() ?? null,
    not_after: row.not_after?.toISOString() ?? null,
    days_left: notAfterMs === null ? null : daysLeft(notAfterMs, nowMs),
    fingerprint_sha256: row.fingerprint_sha256,
    previous_fingerprint: row.previous_fingerprint,
    warnings: (row.warnings ?? []) as Schemas["CertificateWarning"][],
    used_by: uses.slice(0, 100).map((use) => ({ ...use })),
    labels: row.labels as Schemas["Labels"],
    created_by: row.created_by as Schemas["Actor"],
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function viewRenewal(row: CertificateDetails): Schemas["CertificateRenewal"] | null {
  if (row.type !== "managed") return null;
  return {
    renew_at: row.renew_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    failed_attempts: row.failed_attempts,
    last_error: row.last_error as Schemas["CertificateError"] | null,
  };
}

/** By Postgres' clock, when it was read. */
export function statusOf(row: CertificateDetails) {
  return certificateStatus(
    {
      type: row.type as CertificateType,
      notAfterMs: row.not_after?.getTime() ?? null,
      isKeyOpenable: row.is_key_openable === true,
      // Between a failed attempt and the next one nothing is under way.
      isOrdering:
        row.order_state !== null && row.order_state !== "requesting" && row.next_attempt_at === null,
      failedAttempts: row.failed_attempts,
    },
    row.read_at.getTime(),
  );
}
