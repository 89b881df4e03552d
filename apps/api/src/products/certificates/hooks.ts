import type { Schemas } from "@kule/contract/schemas";
import type { AnsweringBalancer } from "@kule/rules/certificates/http-proof";
import type { Database, Tx } from "../../platform/database.ts";

export type CertificateUse = Schemas["CertificateUse"];

/** On whose behalf a certificate is requested. */
export type Requester = { readonly requestedBy: Schemas["Actor"]; readonly requestId: string };

/**
 * Hooks of other products for certificates, which do not import these products. They are listed in
 * `products/certificate-hooks.ts`, and called in that order, which is the order of their locks.
 */
export type CertificateHooks = {
  /**
   * Where each of the certificates is used, in the order of creation; at most 100 of each.
   *
   * In a transaction that has the certificate's row locked for update nobody begins to use it: who does has it locked for
   * share (`lockCertificatesForUse`).
   */
  usedBy?(
    db: Database | Tx,
    organisationId: string,
    certificateIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly CertificateUse[]>>;
  /**
   * What of the organisation answers a CA over HTTP on port 80 (RFC 8555 8.3): one of the region, or all that have one of the
   * addresses, in whatever region.
   */
  answersOverHttp?(
    db: Database,
    organisationId: string,
    where: { readonly region: string } | { readonly addresses: readonly string[] },
  ): Promise<readonly AnsweringBalancer[]>;
};

/** Of all products together. */
export async function usesOf(
  hooks: readonly CertificateHooks[],
  db: Database | Tx,
  organisationId: string,
  certificateIds: readonly string[],
): Promise<ReadonlyMap<string, readonly CertificateUse[]>> {
  const uses = new Map<string, readonly CertificateUse[]>();
  if (certificateIds.length === 0) return uses;
  for (const { usedBy } of hooks) {
    const found = await usedBy?.(db, organisationId, certificateIds);
    for (const [id, more] of found ?? []) uses.set(id, [...(uses.get(id) ?? []), ...more]);
  }
  return uses;
}
