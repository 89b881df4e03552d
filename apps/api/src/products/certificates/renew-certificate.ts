import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { caNotConfigured, caWaits, notManaged } from "./conflicts.ts";
import { type CertificateHooks, usesOf } from "./hooks.ts";
import { beginAttempt, clearWait, findOrder, moveOrder, type OrderState, requestKey } from "./order-store.ts";
import { type CertificateDetails, lockCertificate, writtenCertificate } from "./store.ts";
import { viewCertificate } from "./view.ts";

/** Begins an attempt to have a managed certificate issued anew, or has the one that waits go on now. */
export async function renewCertificate(
  request: ApiRequest<"renewCertificate">,
  tx: Tx,
  found: CertificateDetails,
  hooks: readonly CertificateHooks[],
): Promise<Outcome> {
  const { organisationId, caller } = request;
  const certificate = await lockCertificate(tx, organisationId, found.id);
  if (certificate === null) throw new NotFound();
  if (certificate.type !== "managed") throw notManaged(certificate);
  if (request.deps.settings.acme === null) throw caNotConfigured();
  if (found.ca_waits) throw caWaits(certificate);
  const by = { requestedBy: caller.actor, requestId: request.id };
  const order = await findOrder(tx, organisationId, certificate.id);
  let job = null;
  if (order === null) job = await beginAttempt(tx, certificate, by);
  else {
    clearWait(tx, certificate);
    // A job that is open already makes the key.
    if (order.state === "requesting")
      job = found.job_id === null ? await requestKey(tx, certificate, by) : null;
    // A step that a worker has just taken is not made twice: its number is another one then.
    else if (certificate.next_attempt_at !== null) await moveOrder(tx, order, order.state as OrderState, 0);
  }
  const row = await writtenCertificate(tx, organisationId, certificate.id);
  const uses = await usesOf(hooks, tx, organisationId, [row.id]);
  return {
    reply: reply(job === null ? 200 : 202, {
      certificate: viewCertificate(row, uses.get(row.id)),
      job: await viewJobOrNone(tx, job, caller),
    }),
    resource: row.id,
    ...(job === null ? {} : { details: { job: job.id } }),
  };
}
