import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import type { Schemas } from "@kule/contract/schemas";
import { accepted, outside, type PacketScene } from "../reachability/packet-scene.ts";

/** An organisation with a gateway, a server to write rules for, and a neighbour that tries them. */
export type RuleWorld = {
  readonly api: ApiCaller;
  readonly network: string;
  readonly subnet: string;
  readonly gateway: { readonly id: string; readonly address: string };
  readonly target: { readonly id: string; readonly vmid: number; readonly address: string };
  readonly neighbour: { readonly vmid: number };
};

/** The pool for the addresses of all organisations' gateways; created once. */
export async function makePool({ api: { operator }, region }: PacketScene): Promise<string> {
  const network = { gateway: outside.nextHops[4], prefix_length: 24 };
  const pool = accepted(await operator.post("/ip-pools", { region, name: "public", ...network }));
  accepted(await operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: "203.0.113.16/28" }));
  return pool.id;
}

export async function makeRuleWorld(scene: PacketScene, pool: string, slug: string): Promise<RuleWorld> {
  const { id: organisation, api } = await scene.newOrganisation(slug);
  const given = { organisation_id: organisation, count: 1 };
  accepted(await scene.api.operator.post(`/ip-pools/${pool}/allocations`, given));
  const { network } = accepted(
    await api.post("/networks", { name: "plain", region: scene.region, cidr: "10.0.0.0/16" }),
  );
  const { subnet } = accepted(
    await api.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app", cidr: "10.0.1.0/24" }),
  );
  const { gateway } = accepted(
    await api.post("/gateways", { name: "out", network_id: network.id, subnet_ids: [subnet.id] }),
  );
  const servers = await Promise.all(
    ["target", "neighbour"].map(async (name) =>
      accepted(
        await api.post("/servers", {
          ...{ name, region: scene.region, image: "ubuntu-24.04", package: "s" },
          ...{ subnet_id: subnet.id, labels: { role: name } },
        }),
      ),
    ),
  );
  await scene.work();
  const { rows } = await scene.owner.query<{ server_id: string; vmid: number; address: string }>(
    `select v.server_id, v.vmid, host(a.address) as address
       from region_vmid v join nic n on n.server_id = v.server_id join address a on a.nic_id = n.id
      where v.server_id = any($1)`,
    [servers.map(({ server }) => server.id)],
  );
  const [target, neighbour] = servers.map(({ server }) => {
    const found = rows.find(({ server_id }) => server_id === server.id);
    if (found === undefined) throw new Error(`${server.id} is nowhere`);
    return { id: server.id as string, vmid: found.vmid, address: found.address };
  });
  if (target === undefined || neighbour === undefined) throw new Error("two servers were asked for");
  const made = accepted(await api.get(`/gateways/${gateway.id}`));
  return {
    ...{ api, network: network.id, subnet: subnet.id, target, neighbour },
    gateway: { id: gateway.id, address: made.public_ip.address },
  };
}

/** The result of one text in every field where an owner can write it. */
export type Written = {
  readonly accepted: readonly string[];
  readonly refused: number;
  readonly violations: readonly string[];
  /** The port that its rule is about, and the forwarded one. */
  readonly port: number;
  readonly listenPort: number;
};

/**
 * Writes the text wherever firewalls, forwarded ports, gateways, networks and subnets take one. Whatever is refused, there
 * is one rule and one forwarded port of it in the end, with ports of its own.
 */
export async function write(
  { api, network, subnet, gateway, target }: RuleWorld,
  { region }: PacketScene,
  text: string,
  index: number,
): Promise<Written> {
  // Below those by which packets are distinguished.
  const [port, listenPort] = [2_000 + index, 4_000 + index];
  const taken: string[] = [];
  const violations: string[] = [];
  let refused = 0;
  const isTaken = (field: string, { status, body }: Answer): boolean => {
    if (status < 300) {
      taken.push(field);
      return true;
    }
    refused += 1;
    if (status !== 422 && !(status === 409 && body?.code === "name_taken"))
      violations.push(`${field} ${JSON.stringify(text)} is answered ${status} ${body?.code}, not 422`);
    return false;
  };
  const rule = { protocol: "tcp", ports: [String(port)], peers: [{ any: true }] };
  const named = await api.post("/firewalls", { name: text, region, rules: [rule] });
  const firewall = isTaken("firewall's name", named)
    ? named.body.firewall
    : accepted(await api.post("/firewalls", { name: `fw-${index}`, region, rules: [rule] })).firewall;
  const own = `/firewalls/${firewall.id}`;
  const texts = [
    ["firewall's description", own, { description: text }],
    ["firewall's label", own, { labels: { note: text } }],
    ["firewall's label key", own, { labels: { [text]: "x" } }],
    ["rule's description", `${own}/rules/${firewall.rules[0].id}`, { description: text }],
    ["gateway's name", `/gateways/${gateway.id}`, { name: text }],
    ["gateway's description", `/gateways/${gateway.id}`, { description: text }],
    ["network's description", `/networks/${network}`, { description: text }],
    ["subnet's name", `/networks/${network}/subnets/${subnet}`, { name: text }],
  ] as const;
  for (const [field, path, change] of texts) isTaken(field, await api.patch(path, change));
  const strange = [
    ["rule's ports", { ...rule, ports: [text] }],
    ["rule's protocol", { ...rule, protocol: text }],
    ["rule's direction", { ...rule, direction: text }],
    ["rule's block", { ...rule, peers: [{ cidr: text }] }],
    ["rule's subnet", { ...rule, peers: [{ subnet_id: text }] }],
    ["rule's firewall", { ...rule, peers: [{ firewall_id: text }] }],
    ["rule's labels", { ...rule, peers: [{ label_selector: text }] }],
  ] as const;
  for (const [field, body] of strange) {
    const answer = await api.post(`${own}/rules`, body);
    // A valid port or block is a rule like any other, and would only be counted.
    if (isTaken(field, answer)) accepted(await api.delete(`${own}/rules/${newest(answer, firewall)}`));
  }
  accepted(await api.post(`${own}/attachments`, { server_id: target.id }));
  const forwards = `/gateways/${gateway.id}/port-forwards`;
  const forward = { protocol: "tcp", listen_port: listenPort, server_id: target.id, target_port: port };
  isTaken("forwarded port's protocol", await api.post(forwards, { ...forward, protocol: text }));
  isTaken("forwarded port's server", await api.post(forwards, { ...forward, server_id: text }));
  const described = await api.post(forwards, { ...forward, description: text });
  if (!isTaken("forwarded port's description", described)) accepted(await api.post(forwards, forward));
  const wild = await api.post("/networks", { name: text, region, cidr: "10.9.0.0/16" });
  if (isTaken("network's name", wild)) {
    const inside = { tier: "app", cidr: "10.9.1.0/24" };
    const subnets = `/networks/${wild.body.network.id}/subnets`;
    isTaken("new subnet's name", await api.post(subnets, { ...inside, name: text }));
  }
  return { accepted: taken, refused, violations, port, listenPort };
}

/** The rule that was added to the only one there was. */
function newest({ body }: Answer, { rules: [first] }: Schemas["Firewall"]): string {
  const rules = body.firewall.rules as Schemas["Firewall"]["rules"];
  return rules.find(({ id }) => id !== first?.id)?.id ?? "";
}
