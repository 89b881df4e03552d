import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewJobOrNone } from "../jobs/index.ts";
import { type DomainRow, writtenDomain } from "./store.ts";
import { viewDomain } from "./view.ts";

/** The 202 of a domain that was changed, with the job that brings the change to its name servers. */
export function accepted(
  request: ApiRequest,
  tx: Tx,
  domain: Pick<DomainRow, "id" | "organisation_id">,
  job: JobRow | null,
  details: Readonly<Record<string, unknown>> = {},
): Promise<Outcome> {
  return answered(202, request, tx, domain, job, details);
}

/** The 200 of a domain that is as it was asked to be. */
export function unchanged(
  request: ApiRequest,
  tx: Tx,
  domain: Pick<DomainRow, "id" | "organisation_id">,
): Promise<Outcome> {
  return answered(200, request, tx, domain, null, {});
}

async function answered(
  status: number,
  request: ApiRequest,
  tx: Tx,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  job: JobRow | null,
  details: Readonly<Record<string, unknown>>,
): Promise<Outcome> {
  const row = await writtenDomain(tx, organisation_id, id);
  const headers = job === null ? {} : { Link: `</api/v1/jobs/${job.id}>; rel="monitor"` };
  return {
    reply: reply(
      status,
      { domain: viewDomain(row), job: await viewJobOrNone(tx, job, request.caller) },
      headers,
    ),
    resource: id,
    details: job === null ? details : { ...details, job: job.id },
  };
}
