import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { reach } from "@kule/rules/networks/reachability";
import type { Decision, Endpoint } from "@kule/rules/networks/verdict";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { loadIntent, questionErrors } from "../firewalls/index.ts";
import { gatewayAddressOf } from "../gateways/index.ts";
import type { NetworkRow } from "../networks/index.ts";

export async function checkExplainNetwork(
  request: ApiRequest<"explainNetwork">,
  body: Partial<RequestBody<"explainNetwork">>,
  { id, region }: NetworkRow,
): Promise<FieldError[]> {
  const gateway = await gatewayAddressOf(request.db, request.organisationId, id);
  return questionErrors(request, body, region, gateway);
}

/** Answers from the records alone, with the rules that produce the region's filters. */
export async function explainNetwork(
  { db, organisationId, body }: ApiRequest<"explainNetwork">,
  network: NetworkRow,
): Promise<Reply> {
  const intent = await loadIntent(db, organisationId, network.region);
  const homes = [body.from, body.to].flatMap(({ server_id: id }) => {
    if (id === undefined) return [];
    const server = intent.servers.find((each) => each.id === id);
    // It was deleted since it was read.
    if (server === undefined) throw new NotFound();
    return server.interfaces.map(
      ({ subnetId }) => intent.subnets.find((subnet) => subnet.id === subnetId)?.networkId,
    );
  });
  const gateway = intent.gateways.find(({ networkId }) => networkId === network.id);
  const isToGateway = gateway !== undefined && body.to.address === gateway.address;
  if (!homes.includes(network.id) && !isToGateway)
    throw new Invalid([
      fieldError("/from", "not_found", "neither end is a server of this network, nor its gateway"),
    ]);
  const verdict = reach(intent, {
    from: endpoint(body.from),
    to: endpoint(body.to),
    protocol: body.protocol,
    port: body.port ?? null,
  });
  const answer: Schemas["ReachVerdict"] = {
    verdict: word(verdict.isAllowed),
    decided_by: viewDecision(verdict.decision, verdict.isAllowed),
    checks: verdict.checks.map(({ place, isAllowed, decision }) => ({
      place,
      verdict: word(isAllowed),
      decided_by: viewDecision(decision, isAllowed),
    })),
  };
  return reply(200, answer);
}

const word = (isAllowed: boolean) => (isAllowed ? "allowed" : "denied");

function endpoint({ server_id, address }: Schemas["ReachEndpoint"]): Endpoint {
  return server_id === undefined
    ? { kind: "address", address: address ?? "" }
    : { kind: "server", serverId: server_id };
}

function viewDecision(decision: Decision, isAllowed: boolean): Schemas["ReachDecision"] {
  return {
    type: decision.by,
    resource: resourceOf(decision),
    rule_id: decision.by === "firewall_rule" ? decision.ruleId : null,
    message: messageOf(decision, isAllowed),
  };
}

function resourceOf(decision: Decision): string | null {
  switch (decision.by) {
    case "isolation":
    case "network":
      return decision.networkId;
    case "tier":
    case "subnet":
      return decision.subnetId;
    case "gateway":
      return decision.gatewayId;
    case "port_forward":
      return decision.portForwardId;
    case "firewall_rule":
      return decision.firewallId;
    case "route":
    case "itself":
      return decision.serverId;
    default:
      return null;
  }
}

function messageOf(decision: Decision, isAllowed: boolean): string {
  switch (decision.by) {
    case "isolation":
      return "Private networks share nothing with one another, nor their addresses with the internet";
    case "tier":
      return "A subnet of tier data never reaches the internet, nor is reached from there";
    case "gateway":
      if (isAllowed) return `Gateway ${decision.gatewayId} lets the subnet out`;
      if (decision.gatewayId === null) return "The network has no gateway";
      return decision.subnetId === null
        ? `Gateway ${decision.gatewayId} forwards nothing there`
        : `Gateway ${decision.gatewayId} does not serve the subnet`;
    case "port_forward":
      return `Gateway ${decision.gatewayId} forwards the port`;
    case "firewall_rule":
      return `Rule ${decision.ruleId} of firewall ${decision.firewallId} ${isAllowed ? "allows" : "denies"} it`;
    case "firewall_default":
      return isAllowed
        ? "No rule of the server's firewalls forbids it"
        : "No rule of the server's firewalls lets it in";
    case "no_firewall":
      return "No firewall is attached to the server";
    case "platform":
      return platformMessages[decision.rule];
    case "route":
      return "A server with a public IPv4 address sends everything but what is for its own network by that interface";
    case "subnet":
      return "They are in one subnet";
    case "network":
      return "The subnets of a network reach each other";
    case "public_address":
      return `By the public address ${decision.address}`;
    case "itself":
      return "It is the server's own address";
    case "nobody":
      return isAllowed
        ? `${decision.address} is none of the organisation's: what happens there is not known here`
        : `No server has ${decision.address}`;
  }
}

const platformMessages: { readonly [rule in Extract<Decision, { by: "platform" }>["rule"]]: string } = {
  own_mac: "Traffic from a spoofed MAC address is blocked",
  own_addresses: "A server sends with its own addresses alone",
  data_egress: "A subnet of tier data never reaches the internet",
  other_networks: "Another private network is never reached",
  link_addresses: "Link-local traffic (fe80::) is blocked: private networks have no IPv6",
  answers: "It answers what was allowed",
  router_echo: "A router answers a ping in its own subnet, and nothing else",
  no_ipv6: "Private networks have no IPv6",
};
