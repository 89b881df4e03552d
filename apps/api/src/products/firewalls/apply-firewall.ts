import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { toldServers } from "./answer.ts";
import { type FirewallDetails, lockFirewall } from "./store.ts";

/** What a hand has changed in the region is put right by jobs that look for themselves; nothing of the firewall changes. */
export async function applyFirewall(
  request: ApiRequest<"applyFirewall">,
  tx: Tx,
  found: FirewallDetails,
): Promise<Outcome> {
  const firewall = await lockFirewall(tx, request.organisationId, found.id);
  if (firewall === null) throw new NotFound();
  request.checkGeneration(firewall);
  return toldServers(request, tx, firewall, { again: firewall.id });
}
