import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import { cancelQueuedJob, lockOpenJobs } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { certificateInUse, hasOpenJob } from "./conflicts.ts";
import { type CertificateHooks, usesOf } from "./hooks.ts";
import { removeChallenges } from "./order-store.ts";
import { type CertificateRow, deleteCertificateRow, lockCertificate } from "./store.ts";

/** Deletes a certificate that nothing uses, with its sealed key. */
export async function deleteCertificate(
  request: ApiRequest<"deleteCertificate">,
  tx: Tx,
  found: CertificateRow,
  hooks: readonly CertificateHooks[],
): Promise<Outcome> {
  const { organisationId } = request;
  const certificate = await lockCertificate(tx, organisationId, found.id);
  if (certificate === null) throw new NotFound();
  request.checkGeneration(certificate);
  const uses = await usesOf(hooks, tx, organisationId, [certificate.id]);
  const [first, ...others] = uses.get(certificate.id) ?? [];
  if (first !== undefined) throw certificateInUse(certificate, [first, ...others]);
  const { queued, running } = await lockOpenJobs(tx, organisationId, certificate.id);
  if (running !== null) throw hasOpenJob(certificate, running.id);
  if (queued !== null) cancelQueuedJob(tx, queued, "cancelled", "The certificate was deleted");
  // What the domains serve for it goes with it.
  await removeChallenges(tx, certificate);
  await deleteCertificateRow(tx, organisationId, certificate.id);
  return {
    reply: noContent(),
    resource: certificate.id,
    details: { name: certificate.name, domain_names: certificate.domain_names.slice(0, 20) },
  };
}
