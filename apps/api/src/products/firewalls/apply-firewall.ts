import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { answerWithServerJobs } from "./answer.ts";
import { type FirewallDetails, lockFirewall } from "./store.ts";

/**
 * Manual changes in the region are corrected by jobs that read the state there; nothing of the firewall
 * changes.
 */
export async function applyFirewall(
  request: ApiRequest<"applyFirewall">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  const firewall = await lockFirewall(tx, request.organisationId, found.id);
  if (firewall === null) throw new NotFound();
  request.checkGeneration(firewall);
  return answerWithServerJobs(request, tx, firewall, { again: firewall.id });
}
