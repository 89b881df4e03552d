import type { Schemas } from "@kule/contract/schemas";
import { questionErrors } from "./fake-firewalls.ts";
import { relabelled } from "./fake-labels.ts";
import type { Operation } from "./fake-operation.ts";
import { narrowedPage, page } from "./fake-page.ts";
import { fakeNetwork, fakeSubnet } from "./fake-records.ts";
import { registerReservations } from "./fake-reservations.ts";
import type { FakeState } from "./fake-state.ts";

export function registerNetworks(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.networks.find((network) => network.id === id);
  const findSubnet = (id: string | undefined) => state.subnets.find((subnet) => subnet.id === id);

  operation("get", "/networks", "listNetworks", ({ query, fail }) =>
    narrowedPage(state.networks, query, fail),
  );
  operation<Schemas["NetworkCreate"]>("post", "/networks", "createNetwork", ({ body }) => {
    const network = fakeNetwork(body, false);
    state.networks.push(network);
    return { status: 201, body: { network, job: null } };
  });
  operation("get", "/networks/:network_id", "getNetwork", ({ params, fail }) => {
    const network = find(params.network_id);
    return network === undefined
      ? fail(404, "not_found", "There is no such network")
      : { status: 200, body: network };
  });
  operation<Schemas["NetworkUpdate"]>(
    "patch",
    "/networks/:network_id",
    "updateNetwork",
    ({ params, body, fail }) => {
      const network = find(params.network_id);
      if (network === undefined) return fail(404, "not_found", "There is no such network");
      if (state.networks.some(({ id, name }) => id !== network.id && name === body.name))
        return fail(409, "name_taken", `region ist1 has a network named ${body.name}`);
      return relabelled(network, body, fail, () => ({ status: 200, body: { network, job: null } }));
    },
  );
  operation("delete", "/networks/:network_id", "deleteNetwork", ({ params, fail }) => {
    const network = find(params.network_id);
    if (network === undefined) return fail(404, "not_found", "There is no such network");
    if (network.subnets.length > 0) return fail(409, "in_use", "the network has subnets");
    state.networks.splice(state.networks.indexOf(network), 1);
    return { status: 204 };
  });
  operation("get", "/networks/:network_id/subnets", "listSubnets", ({ params, query }) =>
    page(
      state.subnets.filter(({ network_id }) => network_id === params.network_id),
      query,
    ),
  );
  operation<Schemas["SubnetCreate"]>(
    "post",
    "/networks/:network_id/subnets",
    "createSubnet",
    ({ params, body, fail }) => {
      const network = find(params.network_id);
      if (network === undefined) return fail(404, "not_found", "There is no such network");
      if (state.subnets.some(({ cidr }) => cidr === body.cidr))
        return fail(409, "cidr_overlap", `${body.cidr} overlaps another subnet`);
      const subnet = fakeSubnet(body, network);
      state.subnets.push(subnet);
      network.subnets.push({ id: subnet.id, name: subnet.name, tier: subnet.tier, cidr: subnet.cidr });
      return { status: 201, body: { subnet, job: null } };
    },
  );
  operation("get", "/networks/:network_id/subnets/:subnet_id", "getSubnet", ({ params, fail }) => {
    const subnet = findSubnet(params.subnet_id);
    return subnet === undefined
      ? fail(404, "not_found", "There is no such subnet")
      : { status: 200, body: subnet };
  });
  operation<Schemas["SubnetUpdate"]>(
    "patch",
    "/networks/:network_id/subnets/:subnet_id",
    "updateSubnet",
    ({ params, body, fail }) => {
      const subnet = findSubnet(params.subnet_id);
      if (subnet === undefined) return fail(404, "not_found", "There is no such subnet");
      return relabelled(subnet, body, fail, () => {
        const listed = find(subnet.network_id)?.subnets.find(({ id }) => id === subnet.id);
        if (listed !== undefined) listed.name = subnet.name;
        return { status: 200, body: { subnet, job: null } };
      });
    },
  );
  operation("delete", "/networks/:network_id/subnets/:subnet_id", "deleteSubnet", ({ params, fail }) => {
    const subnet = findSubnet(params.subnet_id);
    const network = find(params.network_id);
    if (subnet === undefined || network === undefined)
      return fail(404, "not_found", "There is no such subnet");
    if (state.servers.some(({ interfaces }) => interfaces.some((nic) => nic.subnet_id === subnet.id)))
      return fail(409, "in_use", "servers are in the subnet");
    state.subnets.splice(state.subnets.indexOf(subnet), 1);
    network.subnets = network.subnets.filter(({ id }) => id !== subnet.id);
    return { status: 204 };
  });
  registerReservations(operation, state);
  operation<Schemas["ReachQuestion"]>(
    "post",
    "/networks/:network_id/explain",
    "explainNetwork",
    ({ body, fail }) => {
      const errors = questionErrors(body);
      if (errors.length > 0) return fail(422, "validation_failed", "The request is wrong", { errors });
      return { status: 200, body: verdictOf(state, body) };
    },
  );
}

/** Two servers of one network reach each other unless the first firewall of the receiver has rules; the internet never. */
function verdictOf(state: FakeState, { from, to }: Schemas["ReachQuestion"]): Schemas["ReachVerdict"] {
  const networkOf = (id: string | undefined) => state.server(id)?.interfaces[0]?.network_id ?? null;
  const own = networkOf(from.server_id);
  const says = (type: Schemas["ReachDecision"]["type"], resource: string | null, message: string) => ({
    type,
    resource,
    rule_id: null,
    message,
  });
  const sent = {
    place: "sender_filter" as const,
    verdict: "allowed" as const,
    decided_by: says("no_firewall", null, "No firewall is attached to the server"),
  };
  if (to.server_id === undefined || own === null || networkOf(to.server_id) !== own) {
    const by =
      to.server_id === undefined
        ? says("gateway", null, "The network has no gateway")
        : says("isolation", own, "Private networks share nothing with one another");
    return {
      verdict: "denied",
      decided_by: by,
      checks: [sent, { place: "router", verdict: "denied", decided_by: by }],
    };
  }
  const routed = {
    place: "router" as const,
    verdict: "allowed" as const,
    decided_by: says("network", own, "The subnets of a network reach each other"),
  };
  const firewall = state.firewalls.find(({ attachments }) =>
    attachments.some(({ server_id }) => server_id === to.server_id),
  );
  const rule = firewall?.rules[0];
  if (firewall === undefined || rule === undefined)
    return { verdict: "allowed", decided_by: routed.decided_by, checks: [sent, routed] };
  const verdict = rule.action === "allow" ? "allowed" : "denied";
  const by = {
    type: "firewall_rule" as const,
    resource: firewall.id,
    rule_id: rule.id,
    message: `Rule ${rule.id} of firewall ${firewall.id} decides`,
  };
  return {
    verdict,
    decided_by: by,
    checks: [sent, routed, { place: "receiver_filter", verdict, decided_by: by }],
  };
}
