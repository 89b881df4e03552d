import { readCertificateRequest } from "@kule/certificates/read-request";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import type { JobEnd, JobHandler } from "../../platform/job-handler.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { clearWait, failAttempt, findOrder, moveOrder, type OrderRow } from "./order-store.ts";
import { renderCertificatePayload } from "./payload.ts";
import { type CertificateRow, lockCertificate } from "./store.ts";

/** The job handler for jobs of certificates. */
export function certificateJobs(): JobHandler {
  return {
    kinds: ["CertificateRequest"],
    lockResource: async (tx, job) => {
      await lockCertificate(tx, job.organisation_id, job.resource_id);
    },
    renderPayload: renderCertificatePayload,
    settle: settleCertificateJob,
    preempt: () => Promise.resolve(),
    // An order gets another job instead.
    retried: () => Promise.resolve(),
    replaceVmid: () => Promise.resolve(false),
  };
}

/** Takes the key and the request that the region has made, or has the next attempt ask it again. */
async function settleCertificateJob(tx: Tx, job: JobRow, end: JobEnd): Promise<void> {
  const certificate = await lockCertificate(tx, job.organisation_id, job.resource_id);
  const order =
    certificate === null ? null : await findOrder(tx, certificate.organisation_id, certificate.id);
  forgetReport(tx, job);
  if (certificate === null || order === null || order.state !== "requesting") return;
  const request = end.status === "succeeded" ? madeFor(certificate, order, end) : null;
  if (request === null)
    return failAttempt(tx, certificate, order, { code: "region_failed", state: "requesting" });
  clearWait(tx, certificate);
  await moveOrder(tx, order, "ready", 0, { request });
}

/** What was reported, if it is what was asked for: the names are checked, since the CA is asked for those of the request. */
function madeFor(certificate: CertificateRow, order: OrderRow, { certificateRequest: made }: JobEnd) {
  if (made === null || made === undefined || made.version !== order.version) return null;
  const csr = Buffer.from(made.csr, "base64");
  const facts = readCertificateRequest(csr);
  if (facts === null || !isBase64(made.sealed_key) || !isBase64(made.public_key)) return null;
  const asked = new Set(certificate.domain_names);
  const isForThem = asked.symmetricDifference(new Set(facts.names)).size === 0;
  return isForThem ? { csr, sealedKey: made.sealed_key, sealedTo: made.public_key } : null;
}

const isBase64 = (text: string) => text !== "" && /^[A-Za-z0-9+/]+={0,2}$/.test(text);

/** The sealed key is kept with the order alone: it goes when that goes. */
function forgetReport(tx: Tx, job: JobRow): void {
  sendAhead(
    tx,
    tx
      .updateTable("job")
      .set({ result: sql`result - 'certificate_request'` })
      .where("organisation_id", "=", job.organisation_id)
      .where("id", "=", job.id),
  );
}
