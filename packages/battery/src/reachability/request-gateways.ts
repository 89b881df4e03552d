import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { Schemas } from "@kule/contract/schemas";
import type { IntentGateway } from "@kule/rules/networks/intent";
import type { GatewayState } from "./gateway-states.ts";
import { accepted, type PacketScene } from "./packet-scene.ts";
import { readTopology, type Topology } from "./topology.ts";

/**
 * Requests the gateways of a state from the API, lets the agent apply them to the edge, and returns the
 * topology as it is then.
 */
export async function requestGateways(
  scene: PacketScene,
  topology: Topology,
  { gateways }: GatewayState,
): Promise<Topology> {
  for (const networkId of new Set(topology.subnets.map((each) => each.networkId))) {
    const organisation = topology.subnets.find((each) => each.networkId === networkId)?.organisation ?? "";
    const api = topology.apis.get(organisation);
    if (api === undefined) throw new Error(`nobody owns ${networkId}`);
    const of = (all: readonly IntentGateway[]) => all.find((each) => each.networkId === networkId) ?? null;
    await change(api, topology, of(topology.intent.gateways), of(gateways));
  }
  await scene.work();
  for (const api of topology.apis.values()) {
    const { items } = accepted(await api.get("/gateways?limit=200"));
    const waiting = (items as Schemas["Gateway"][]).filter(({ status }) => status !== "active");
    if (waiting.length > 0) throw new Error(`gateways that are not in force: ${JSON.stringify(waiting)}`);
  }
  return readTopology(scene, topology.apis);
}

type Forward = IntentGateway["portForwards"][number];

async function change(
  api: ApiCaller,
  topology: Topology,
  before: IntentGateway | null,
  after: IntentGateway | null,
): Promise<void> {
  if (before === null && after === null) return;
  const none: Pick<IntentGateway, "subnetIds" | "portForwards"> = { subnetIds: [], portForwards: [] };
  const [had, wanted] = [before ?? none, after ?? none];
  const id = before?.id ?? (await made(api, after));
  const without = (all: readonly Forward[], others: readonly Forward[]) =>
    all.filter((each) => !others.some((other) => isSame(each, other)));
  for (const forward of without(had.portForwards, wanted.portForwards))
    accepted(await api.delete(`/gateways/${id}/port-forwards/${forward.id}`));
  if (after === null) {
    accepted(await api.delete(`/gateways/${id}`));
    return;
  }
  for (const subnetId of wanted.subnetIds.filter((each) => !had.subnetIds.includes(each)))
    accepted(await api.post(`/gateways/${id}/subnets`, { subnet_id: subnetId }));
  for (const subnetId of had.subnetIds.filter((each) => !wanted.subnetIds.includes(each)))
    accepted(await api.delete(`/gateways/${id}/subnets/${subnetId}`));
  for (const { protocol, listenPort, targetAddress, targetPort } of without(
    wanted.portForwards,
    had.portForwards,
  )) {
    const target = topology.servers.find(
      (each) => each.networkId === after.networkId && each.address === targetAddress,
    );
    const body = { protocol, listen_port: listenPort, server_id: target?.id, target_port: targetPort };
    accepted(await api.post(`/gateways/${id}/port-forwards`, body));
  }
}

async function made(api: ApiCaller, gateway: IntentGateway | null): Promise<string> {
  const name = `out-${gateway?.id.replace("_", "-")}`;
  const answer = await api.post("/gateways", { name, network_id: gateway?.networkId });
  return accepted(answer).gateway.id;
}

const isSame = (one: Forward, other: Forward): boolean =>
  one.protocol === other.protocol &&
  one.listenPort === other.listenPort &&
  one.targetAddress === other.targetAddress &&
  one.targetPort === other.targetPort;
