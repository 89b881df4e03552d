import type { CertificateFacts } from "@kule/certificates/certificate-facts";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";

/** What a region's job needs of a certificate. Its agent opens the key with the context. */
export type CertificateMaterial = {
  readonly id: string;
  readonly version: number;
  readonly domain_names: readonly string[];
  /** The certificate first, then what leads from it to a root. */
  readonly chain_pem: string;
  readonly sealed_key: string;
  readonly context: string;
};

/** What a key is sealed for: a sealed one that is moved to another certificate or version does not open. */
export const sealingContext = (certificateId: string, version: number): string =>
  `${certificateId}:${version}`;

/** Of those of the certificates that have any, in the order of the ids. */
export async function materialOf(
  tx: Database | Tx,
  organisationId: string,
  certificateIds: readonly string[],
): Promise<CertificateMaterial[]> {
  if (certificateIds.length === 0) return [];
  const rows = await tx
    .selectFrom("certificate")
    .innerJoin("certificate_version", (join) =>
      join
        .onRef("certificate_version.organisation_id", "=", "certificate.organisation_id")
        .onRef("certificate_version.certificate_id", "=", "certificate.id")
        .onRef("certificate_version.version", "=", "certificate.version"),
    )
    .select([
      "certificate.id",
      "certificate_version.version",
      "certificate_version.names",
      "certificate_version.chain_pem",
      "certificate_version.sealed_key",
    ])
    .where("certificate.organisation_id", "=", organisationId)
    .where("certificate.id", "in", [...certificateIds])
    .orderBy("certificate.id")
    .execute();
  return rows.map(({ names, ...row }) => ({
    ...row,
    domain_names: names,
    context: sealingContext(row.id, row.version),
  }));
}

/** Those of the ids that are this organisation's: until this transaction ends none of them is deleted or replaced. */
export async function lockCertificatesForUse(
  tx: Tx,
  organisationId: string,
  certificateIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (certificateIds.length === 0) return new Set();
  const rows = await tx
    .selectFrom("certificate")
    .select("id")
    .where("organisation_id", "=", organisationId)
    .where("id", "in", [...certificateIds])
    .orderBy("id")
    .forShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export type NewMaterial = {
  readonly version: number;
  readonly facts: CertificateFacts;
  readonly sealedKey: string;
  /** The agent's key that it was sealed to. */
  readonly sealedTo: string;
  readonly warnings: readonly object[];
};

/**
 * Puts a version of its material into use; the one before and its key are deleted. The certificate's row is locked, or new.
 *
 * @param domainNames the names that the certificate is for from now on; those that it was for when left out
 */
export async function useMaterial(
  tx: Tx,
  { id, organisation_id }: { readonly id: string; readonly organisation_id: string },
  { version, facts, sealedKey, sealedTo, warnings }: NewMaterial,
  domainNames?: readonly string[],
): Promise<void> {
  const before = await tx
    .deleteFrom("certificate_version")
    .where("organisation_id", "=", organisation_id)
    .where("certificate_id", "=", id)
    .returning("fingerprint_sha256")
    .execute();
  await tx
    .insertInto("certificate_version")
    .values({
      organisation_id,
      certificate_id: id,
      version,
      chain_pem: facts.chainPem,
      sealed_key: sealedKey,
      sealed_to: sealedTo,
      warnings: JSON.stringify(warnings),
      issuer: facts.issuer,
      serial: facts.serial,
      key_type: facts.keyType,
      names: [...facts.names],
      not_before: facts.notBefore,
      not_after: facts.notAfter,
      fingerprint_sha256: facts.fingerprintSha256,
    })
    .execute();
  await tx
    .updateTable("certificate")
    .set({
      version,
      ...(domainNames === undefined ? {} : { domain_names: [...domainNames] }),
      previous_fingerprint: before[0]?.fingerprint_sha256 ?? null,
      // New material begins anew.
      warned_days: null,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisation_id)
    .where("id", "=", id)
    .execute();
}
