import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { attachmentStates } from "./attachment-status.ts";
import { maxRulesOfServer, refreshFilters } from "./refresh.ts";
import { type FirewallDetails, findFirewall } from "./store.ts";
import { viewFirewall } from "./view.ts";

/** The firewall as it is now, for an answer. */
async function writtenFirewall(
  { organisationId, caller }: ApiRequest,
  tx: Tx,
  id: string,
): Promise<Schemas["Firewall"]> {
  const row = await findFirewall(tx, organisationId, id);
  if (row === null) throw new Error("a firewall that was just written could not be found");
  return viewFirewall(row, await attachmentStates(tx, organisationId, [row]), caller);
}

/**
 * Queues jobs for the servers whose rules have changed, and answers with the first of the jobs.
 *
 * @param again the firewall whose servers get a job whatever rules they have
 */
export async function answerWithServerJobs(
  request: ApiRequest,
  tx: Tx,
  { id, region }: Pick<FirewallDetails, "id" | "region">,
  { again }: { readonly again?: string } = {},
): Promise<Outcome> {
  const by = { requestedBy: request.caller.actor, requestId: request.id };
  const more = { maxRules: maxRulesOfServer, ...(again === undefined ? {} : { again }) };
  return answered(request, tx, id, await refreshFilters(tx, request.organisationId, region, by, more));
}

export async function answered(
  request: ApiRequest,
  tx: Tx,
  id: string,
  jobs: readonly JobRow[],
  status?: 201,
): Promise<Outcome> {
  const firewall = await writtenFirewall(request, tx, id);
  const [first] = jobs;
  const answer: Schemas["FirewallAndJob"] = {
    firewall,
    job: first === undefined ? null : await viewWrittenJob(tx, first, request.caller),
    job_ids: jobs.map((job) => job.id),
  };
  const headers = {
    ETag: `"g${firewall.generation}"`,
    ...(status === 201 ? { Location: `/api/v1/firewalls/${id}` } : {}),
    ...(first === undefined ? {} : { Link: `</api/v1/jobs/${first.id}>; rel="monitor"` }),
  };
  return {
    reply: reply(status ?? (first === undefined ? 200 : 202), answer, headers),
    resource: id,
    details: { jobs: jobs.length },
  };
}
