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
    type: row.type as CertificateType as Schemas["Certificate"]["type"],
    status: statusOf(row) as Schemas["CertificateStatus"],
    domain_names: row.domain_names,
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

/** By Postgres' clock, when it was read. */
export function statusOf(row: CertificateDetails) {
  return certificateStatus(
    {
      type: row.type as CertificateType,
      notAfterMs: row.not_after?.getTime() ?? null,
      isKeyOpenable: row.is_key_openable === true,
      isOrdering: false,
      failedAttempts: 0,
    },
    row.read_at.getTime(),
  );
}
