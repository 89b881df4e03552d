import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { compileFilter, type Side } from "@kule/rules/firewalls/compile";
import type { FilteredServer } from "@kule/rules/firewalls/firewall";
import { decidePacket } from "@kule/rules/firewalls/verdict";
import { addressOf } from "@kule/rules/networks/address-text";
import { IntentIndex } from "@kule/rules/networks/intent-index";
import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { asRules, loadIntent } from "./intent.ts";
import { questionErrors } from "./reach-question.ts";
import type { FirewallDetails } from "./store.ts";
import { viewRule } from "./view.ts";

export function checkTestFirewall(
  request: ApiRequest<"testFirewall">,
  body: Partial<RequestBody<"testFirewall">>,
  { region }: FirewallDetails,
): Promise<FieldError[]> {
  return questionErrors(request, body, region);
}

/**
 * As if it were the only firewall attached to the server that the packet is for or, when that is not one of
 * ours, comes from.
 */
export async function testFirewall(
  { db, organisationId, body }: ApiRequest<"testFirewall">,
  found: FirewallDetails,
): Promise<Reply> {
  const { from, to, protocol, port = null } = body;
  const intent = await loadIntent(db, organisationId, found.region);
  const index = new IntentIndex(intent);
  const serverOf = (id: string) => {
    const server = intent.servers.find((each) => each.id === id);
    // It was deleted since it was read.
    if (server === undefined) throw new NotFound();
    return server;
  };
  const direction = to.server_id === undefined ? "out" : "in";
  const server = serverOf(to.server_id ?? from.server_id ?? "");
  const other = direction === "in" ? from : to;
  const peer =
    other.server_id === undefined
      ? placed(index, server, other.address ?? "")
      : met(index, server, serverOf(other.server_id));
  const firewall = asRules(found);
  const alone = { ...firewall, targets: [{ kind: "server", serverId: server.id } as const] };
  const around = {
    ...index.around,
    firewalls: [...intent.firewalls.filter(({ id }) => id !== found.id), firewall],
  };
  const filter = compileFilter(server, {
    ...around,
    firewalls: around.firewalls.map((each) => (each.id === found.id ? alone : each)),
  });
  const rules = filter.rules.filter(({ firewallId }) => firewallId === found.id);
  const { isAllowed, rule } = decidePacket(
    { isFiltered: true, rules },
    { direction, side: peer.side, peer: addressOf(peer.address), protocol, port },
  );
  const stored = found.rules.find(({ id }) => id === rule?.ruleId);
  const verdict: Schemas["FirewallVerdict"] = {
    verdict: isAllowed ? "allowed" : "denied",
    rule: stored === undefined ? null : viewRule(stored),
    message:
      stored === undefined
        ? direction === "in"
          ? "No rule matches, and what no rule lets in stays out"
          : "No rule matches, and what none forbids goes out"
        : `Rule ${stored.id} ${isAllowed ? "allows" : "denies"} it`,
  };
  return reply(200, verdict);
}

type MatchedAddress = { readonly side: Side; readonly address: string };

/** By which of its interfaces the server meets an address. */
function placed(index: IntentIndex, server: FilteredServer, address: string): MatchedAddress {
  const networkId = index.homeOf(server)?.networkId;
  const isInside = networkId !== undefined && index.subnetAround(networkId, addressOf(address)) !== null;
  return { side: isInside || server.publicAddresses.length === 0 ? "private" : "public", address };
}

/** Two servers of one network meet in it, others by their public addresses. */
function met(index: IntentIndex, server: FilteredServer, other: FilteredServer): MatchedAddress {
  const [own, others] = [index.homeOf(server)?.networkId, index.homeOf(other)?.networkId];
  const inside = other.interfaces[0]?.address;
  const outside = other.publicAddresses[0];
  if (own === others && inside !== undefined) return { side: "private", address: inside };
  return placed(index, server, outside ?? inside ?? "0.0.0.0");
}
