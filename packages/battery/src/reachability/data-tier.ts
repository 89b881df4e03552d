import type { Answer } from "@kule/api/testing/api-caller";
import type { Schemas } from "@kule/contract/schemas";
import { BadEdgeState } from "@kule/edge/check-network";
import type { EdgeNetwork } from "@kule/edge/edge-network";
import { bridgePortName, subnetLinkName, uplinkName } from "@kule/edge/names";
import type { IntentGateway } from "@kule/rules/networks/intent";
import { answerText } from "../races/answer-text.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { RowResult, RowRun } from "../row.ts";
import { type GatewayState, gatewayStates } from "./gateway-states.ts";
import { applyGateways, beyondProductGeneration, edgeNetworks, routerMacs } from "./gateways.ts";
import { rogueTricks } from "./outer-tricks.ts";
import { accepted, outside, wiring } from "./packet-scene.ts";
import { type PacketQuestion, questionsOf } from "./questions.ts";
import { sendQuestions } from "./send-questions.ts";
import { sendTricks } from "./send-tricks.ts";
import type { Topology, TopologyServer } from "./topology.ts";
import { type RunningTopology, withTopology } from "./with-topology.ts";

/** By the API in every order and at once, past it, by the edge's state, and by packets. */
export function runDataTier(run: RowRun): Promise<RowResult> {
  return withTopology(async (standing) => {
    const { scene, topology } = standing;
    const byApi = await tryApi(standing, run.scale === "full" ? 10 : 2);
    run.progress(`${byApi.cases} requests`);
    const byEdge = await tryEdge(standing);
    run.progress(`${byEdge.cases} states of the edge`);
    const byPackets = await tryPackets(standing);
    run.progress(`${byPackets.cases} packets`);
    const all = [byApi, byEdge, byPackets];
    return {
      cases: all.reduce((sum, { cases }) => sum + cases, 0),
      violations: [
        ...all.flatMap(({ violations }) => violations),
        ...(await worldViolations(scene.api.database.ownerUrl, "at the end")),
      ],
      figures: {
        "data subnets": topology.subnets.filter(({ tier }) => tier === "data").length,
        requests: byApi.cases,
        "states of the edge": byEdge.cases,
        packets: byPackets.cases,
      },
    };
  });
}

type Found = { readonly cases: number; readonly violations: readonly string[] };

const inData = ({ servers, subnets }: Topology): TopologyServer[] =>
  servers.filter(({ subnetId }) => subnets.find(({ id }) => id === subnetId)?.tier === "data");

/**
 * An address that is free, attached to another server, and requested with the server; one after another and
 * concurrently.
 */
async function tryApi({ scene, topology }: RunningTopology, rounds: number): Promise<Found> {
  const violations: string[] = [];
  let cases = 0;
  const judge = (what: string, answer: Answer) => {
    cases += 1;
    if (answerText(answer) !== "409 tier_forbids_egress")
      violations.push(`by the API: ${what} was answered ${answerText(answer)}`);
  };
  const found = new Map<string, { readonly free: string; readonly held: string }>();
  for (const [organisation, api] of topology.apis) {
    const { items } = accepted(await api.get("/public-ips?limit=200"));
    const held = (items as Schemas["PublicIp"][]).find(({ attached_to: holder }) => holder !== null);
    const free = accepted(await api.post("/public-ips", { region: scene.region }));
    if (held === undefined) throw new Error(`${organisation} has no server with a public address`);
    found.set(organisation, { free: free.id, held: held.id });
  }
  for (const server of inData(topology)) {
    const api = topology.apis.get(server.organisation);
    const addresses = found.get(server.organisation);
    if (api === undefined || addresses === undefined) throw new Error(`nobody owns ${server.name}`);
    const { free, held } = addresses;
    const body = (name: string, publicIp: string) => ({
      ...{ name, region: scene.region, image: "ubuntu-24.04", package: "s" },
      ...{ subnet_id: server.subnetId, public_ip: publicIp },
    });
    const ways: [string, () => Promise<Answer>][] = [
      ["a free address", () => api.post(`/public-ips/${free}/attach`, { server_id: server.id })],
      [
        "another server's address",
        () => api.post(`/public-ips/${held}/attach`, { server_id: server.id, force: true }),
      ],
      ["a server with any address", () => api.post("/servers", body(`${server.name}-a`, "auto"))],
      ["a server with this address", () => api.post("/servers", body(`${server.name}-b`, free))],
    ];
    for (const [what, ask] of ways) judge(`${what} for ${server.name}`, await ask());
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(ways.flatMap((way) => [way, way]).map(([, ask]) => ask()));
      for (const answer of answers) judge(`one of many at once for ${server.name}`, answer);
    }
    const past = await scene.owner
      .query("update public_ip set server_id = $1, held_by = $1, is_applied = true where id = $2", [
        server.id,
        free,
      ])
      .then(
        () => "committed",
        (error: { readonly constraint?: string }) => error.constraint,
      );
    cases += 1;
    if (past !== "public_ip_kept") violations.push(`past the API: an address for ${server.name} was ${past}`);
  }
  return { cases, violations };
}

/**
 * States that must never be requested of the edge: such a request is refused, and the present state stays.
 */
async function tryEdge({ scene, topology }: RunningTopology): Promise<Found> {
  const violations: string[] = [];
  let cases = 0;
  const [, on] = gatewayStates(topology);
  if (on === undefined) throw new Error("no gateways");
  await applyGateways(scene, topology, on, beyondProductGeneration);
  for (const [what, gateways] of forbidden(topology, on.gateways))
    for (const network of edgeNetworks(topology, gateways, beyondProductGeneration + 1).filter(
      ({ gateway }) => gateway !== null,
    )) {
      cases += 1;
      const refused = await scene.converge(network).then(
        () => false,
        (error: unknown) => {
          if (error instanceof BadEdgeState) return true;
          throw error;
        },
      );
      if (!refused) violations.push(`by the edge: it took a state with ${what}`);
    }
  for (const network of edgeNetworks(topology, on.gateways, beyondProductGeneration + 1)) {
    cases += 1;
    const { seen } = await scene.edge.observe(network);
    violations.push(...pathsOfData(network, seen?.ruleset.objects ?? []));
  }
  return { cases, violations };
}

function forbidden(topology: Topology, gateways: readonly IntentGateway[]): [string, IntentGateway[]][] {
  const dataOf = ({ networkId }: IntentGateway) =>
    topology.subnets.find((each) => each.networkId === networkId && each.tier === "data");
  const changed = (change: (gateway: IntentGateway, subnetId: string, address: string) => IntentGateway) =>
    gateways.map((gateway) => {
      const subnet = dataOf(gateway);
      const server = inData(topology).find(({ subnetId }) => subnetId === subnet?.id);
      return change(gateway, subnet?.id ?? "", server?.address ?? "");
    });
  const forward = (targetAddress: string) => ({
    ...{ id: "pf_data", protocol: "tcp" as const, listenPort: 5432, targetAddress, targetPort: 80 },
  });
  return [
    [
      "a data subnet among those served",
      changed((gateway, id) => ({ ...gateway, subnetIds: [...gateway.subnetIds, id] })),
    ],
    [
      "a data subnet alone served",
      changed((gateway, id) => ({ ...gateway, subnetIds: [id], portForwards: [] })),
    ],
    [
      "a port forwarded into a data subnet",
      changed((gateway, _, address) => ({ ...gateway, portForwards: [forward(address)] })),
    ],
    [
      "a port forwarded into a data subnet that is served",
      changed((gateway, id, address) => ({
        ...gateway,
        ...{ subnetIds: [...gateway.subnetIds, id], portForwards: [forward(address)] },
      })),
    ],
  ];
}

/** Rules that let through, and name both the uplink and something of a data subnet. */
function pathsOfData(network: EdgeNetwork, rules: readonly object[]): string[] {
  const texts = rules.map((rule) => JSON.stringify(rule));
  if (texts.length === 0) return [`by the edge: ${network.networkId} has no rules at all`];
  const data = network.subnets.filter(({ tier }) => tier === "data");
  return data.flatMap(({ vlan, cidr, subnetId }) => {
    const words = [subnetLinkName(vlan), bridgePortName(wiring, vlan), cidr.split("/")[0] ?? ""];
    return texts
      .filter((text) => /"accept"|"dnat"|"snat"/.test(text) && text.includes(`"${uplinkName}"`))
      .filter((text) => words.some((word) => text.includes(`"${word}"`)))
      .map((text) => `by the edge: a rule leads between ${subnetId} and the internet: ${text}`);
  });
}

/** With gateways, and without. */
async function tryPackets({ scene, topology, cabling, rogues }: RunningTopology): Promise<Found> {
  const [off, on] = gatewayStates(topology);
  const violations: string[] = [];
  let cases = 0;
  for (const [index, state] of [on, off].entries()) {
    if (state === undefined) throw new Error("no gateways");
    const now = await applyGateways(scene, topology, state, beyondProductGeneration + 2 + index);
    const questions = questionsOf(now).filter((question) => isOutward(now, state, question));
    const judged = await sendQuestions(scene.station, cabling, now, questions);
    const tricks = rogueTricks(now, cabling, routerMacs(now), rogues);
    const tricked = await sendTricks(scene.station, cabling, tricks);
    cases += questions.length + tricked.frames;
    violations.push(
      ...[...judged.violations, ...tricked.violations].map((text) => `by packets, ${state.name}: ${text}`),
    );
    if (judged.allowed > 0) violations.push(`${state.name}: the intent lets data subnets out`);
  }
  return { cases, violations };
}

/** From a data subnet to addresses of the internet, and from there to it. */
function isOutward(topology: Topology, { gateways }: GatewayState, { sender, to }: PacketQuestion): boolean {
  const isPublic =
    topology.servers.some(({ publicAddresses }) => publicAddresses.includes(to)) ||
    gateways.some(({ address }) => address === to) ||
    to === outside.beyond[4] ||
    to === outside.beyond[6];
  return sender !== null && isPublic && inData(topology).some(({ id }) => id === sender.id);
}
