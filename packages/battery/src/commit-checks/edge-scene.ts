import { must } from "@kule/api/testing/gateway-world";
import type { ServerWorld } from "@kule/api/testing/server-world";

/** Networks, gateways and what is behind them: most are as the edge has them, the last six wait for a job. */
export type EdgeSceneId =
  | "edge_network"
  | "edge_subnet"
  | "edge_data"
  | "edge_server"
  | "gateway"
  | "gateway_ip"
  | "forward"
  | "forwarded"
  | "gone_network_job"
  | "others_network"
  | "firewall"
  | "bare_network"
  | "bare_job"
  | "waiting_network"
  | "waiting_job"
  | "leaving_gateway"
  | "going_subnet";

type Settled = Omit<
  Record<EdgeSceneId, string>,
  "bare_network" | "bare_job" | "waiting_network" | "waiting_job"
> & { readonly going_network: string };

/** A region with an edge, and all that it has. A port is forwarded to the server `forwarded`. */
export async function settleAtEdge(world: ServerWorld, others: ServerWorld["owned"]): Promise<Settled> {
  const { agent, owned, region } = world;
  await openEdge(world);
  const networks = { edge: await network(world), leaving: await network(world), going: await network(world) };
  const gone = await must(owned.post("/networks", { name: "gone", region }));
  const foreign = await must(others.post("/networks", { name: "theirs", region }));
  await agent.work();
  const forwarded = await world.createRunning({ subnet_id: networks.edge.app });
  const server = await world.createRunning({ subnet_id: networks.edge.app });
  const behind = await world.createRunning({ subnet_id: networks.leaving.app });
  const removal = await must(owned.delete(`/networks/${gone.network.id}`));
  const out = await gateway(world, "out", networks.edge);
  const away = await gateway(world, "away", networks.leaving);
  const forward = await must(owned.post(`/gateways/${out.id}/port-forwards`, portTo(forwarded.id)));
  await must(owned.post(`/gateways/${away.id}/port-forwards`, portTo(behind.id)));
  await agent.work();
  const { firewall } = await must(owned.post("/firewalls", { name: "walls", region, rules: [] }));
  return {
    edge_network: networks.edge.id,
    edge_subnet: networks.edge.app,
    edge_data: networks.edge.data,
    edge_server: server.id,
    gateway: out.id,
    gateway_ip: out.public_ip.id,
    forward: forward.port_forward.id,
    forwarded: forwarded.id,
    gone_network_job: removal.job.id,
    others_network: foreign.network.id,
    firewall: firewall.id,
    leaving_gateway: away.id,
    going_network: networks.going.id,
    going_subnet: networks.going.app,
  };
}

/** The next job for the edge. No agent may work from then on. */
export async function queueWithoutAgent(
  world: ServerWorld,
  settled: Settled,
): Promise<Record<EdgeSceneId, string>> {
  const { owned, region } = world;
  const { going_network, ...ids } = settled;
  const away = `/gateways/${ids.leaving_gateway}`;
  const { items } = await must(owned.get(`${away}/port-forwards`));
  await must(owned.delete(`${away}/port-forwards/${items[0].id}`));
  await must(owned.delete(away));
  await must(owned.delete(`/networks/${going_network}/subnets/${ids.going_subnet}`));
  const bare = await must(owned.post("/networks", { name: "bare", region }));
  const waiting = await network(world);
  const { job } = await must(
    owned.post("/gateways", { name: "waiting", network_id: waiting.id, subnet_ids: [waiting.app] }),
  );
  return {
    ...ids,
    bare_network: bare.network.id,
    bare_job: bare.job.id,
    waiting_network: waiting.id,
    waiting_job: job.id,
  };
}

async function openEdge({ agent, region, organisation, world: { operator } }: ServerWorld): Promise<void> {
  await must(
    agent.api.post("/agent/health", {
      agent_version: "0.0.0",
      hypervisor: { kind: "proxmox", reachable: true },
      edge: { reachable: true },
    }),
  );
  const pool = await must(
    operator.post("/ip-pools", { region, name: "public", gateway: "203.0.113.1", prefix_length: 24 }),
  );
  await must(operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: "203.0.113.0/28" }));
  const given = { organisation_id: organisation.id, count: 5 };
  await must(operator.post(`/ip-pools/${pool.id}/allocations`, given));
}

let named = 0;

async function network({ owned, region }: ServerWorld): Promise<{ id: string; app: string; data: string }> {
  named += 1;
  const { id } = (await must(owned.post("/networks", { name: `edge-${named}`, region }))).network;
  const subnet = async (tier: string): Promise<string> =>
    (await must(owned.post(`/networks/${id}/subnets`, { name: tier, tier }))).subnet.id;
  return { id, app: await subnet("app"), data: await subnet("data") };
}

async function gateway({ owned }: ServerWorld, name: string, { id, app }: { id: string; app: string }) {
  return (await must(owned.post("/gateways", { name, network_id: id, subnet_ids: [app] }))).gateway;
}

const portTo = (server_id: string) => ({ protocol: "tcp", listen_port: 443, server_id });
