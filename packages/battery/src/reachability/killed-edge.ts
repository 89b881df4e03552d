import type { EdgeNetwork } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import type { Command, Runner } from "@kule/edge/runner";
import type { Shot } from "@kule/testing/packets/volley";
import type { RowResult, RowRun } from "../row.ts";
import { type GatewayState, gatewayStates } from "./gateway-states.ts";
import { beyondProductGeneration, edgeNetworks } from "./gateways.ts";
import { wiring } from "./packet-scene.ts";
import { expectationOf, type PacketQuestion, questionsOf } from "./questions.ts";
import { sendQuestions } from "./send-questions.ts";
import type { Topology } from "./topology.ts";
import { type RunningTopology, withTopology } from "./with-topology.ts";

/** From one state of a network's gateway to another; by their places in the list. */
const changes = {
  sample: [
    [0, 1],
    [1, 2],
  ],
  full: [
    [0, 1],
    [1, 2],
    [2, 0],
    [1, 0],
  ],
} as const;

class Killed extends Error {}

/** Carries out so many commands that change something and none after: as a SIGKILL between two leaves the machine. */
class KilledRunner implements Runner {
  readonly #runner: Runner;
  #left: number;

  constructor(runner: Runner, commands: number) {
    this.#runner = runner;
    this.#left = commands;
  }

  run(command: Command, signal?: AbortSignal) {
    const words = command.words.join(" ");
    const onlyLooks = /-j|sysctl -e/.test(words) && !/nft -j -f/.test(words);
    if (!onlyLooks && !words.startsWith("unshare")) {
      if (this.#left === 0) return Promise.reject(new Killed());
      this.#left -= 1;
    }
    return this.#runner.run(command, signal);
  }
}

type Tally = {
  kills: number;
  packets: number;
  generation: number;
  readonly violations: string[];
  readonly seconds: number[];
};

/** Kills the change of a network between any two commands of it, and tests with packets what is left. */
export function runKilledEdge(run: RowRun): Promise<RowResult> {
  return withTopology(async (standing) => {
    const tally: Tally = {
      kills: 0,
      packets: 0,
      generation: beyondProductGeneration,
      violations: [],
      seconds: [],
    };
    const { scene, topology } = standing;
    for (const network of edgeNetworks(topology, [], tally.generation)) await scene.converge(network);
    const networkId = topology.servers.find(({ name }) => name === "acme-one-app-1")?.networkId;
    const states = gatewayStates(topology).map(({ name, gateways }) => ({
      name,
      gateways: gateways.filter((each) => each.networkId === networkId),
    }));
    for (const [from, to] of changes[run.scale]) {
      const [before, after] = [states[from], states[to]];
      if (before === undefined || after === undefined) throw new Error("there is no such state");
      await killEverywhere(standing, before, after, tally);
      run.progress(`${before.name} to ${after.name}: ${tally.kills} kills so far`);
    }
    const { kills, packets, violations, seconds } = tally;
    if (kills < changes[run.scale].length) violations.push(`only ${kills} places to be killed at were found`);
    return {
      cases: kills,
      violations,
      recoverySeconds: seconds,
      figures: { "changes of a network": changes[run.scale].length, packets },
    };
  });
}

async function killEverywhere(
  standing: RunningTopology,
  before: GatewayState,
  after: GatewayState,
  tally: Tally,
): Promise<void> {
  const { scene, topology, cabling } = standing;
  const [old, wanted] = [before, after].map(
    ({ gateways }): Topology => ({ ...topology, intent: { ...topology.intent, gateways } }),
  ) as [Topology, Topology];
  for (let commands = 0; ; commands += 1) {
    await scene.converge(changing(old, tally));
    const network = changing(wanted, tally);
    const edge = new LinuxEdge(new KilledRunner(scene.runner, commands), wiring);
    const isKilled = await scene.converge(network, edge).then(
      () => false,
      (error: unknown) => {
        if (error instanceof Killed) return true;
        throw error;
      },
    );
    if (!isKilled) return;
    tally.kills += 1;
    const where = `${before.name} to ${after.name}, killed after ${commands} commands`;
    const between = await shootBetween(standing, old, wanted);
    const began = performance.now();
    await scene.converge(network);
    tally.seconds.push((performance.now() - began) / 1000);
    const questions = asked(wanted);
    const judged = await sendQuestions(scene.station, cabling, wanted, questions);
    tally.packets += between.packets + questions.length;
    tally.violations.push(
      ...between.violations.map((text) => `${where}: ${text}`),
      ...judged.violations.map((text) => `${where}, and gone on: ${text}`),
    );
  }
}

/** The network that is changed, as a newer generation. */
function changing({ servers, ...topology }: Topology, tally: Tally): EdgeNetwork {
  tally.generation += 1;
  const networkId = servers.find(({ name }) => name === "acme-one-app-1")?.networkId;
  const network = edgeNetworks({ servers, ...topology }, topology.intent.gateways, tally.generation).find(
    (each) => each.networkId === networkId,
  );
  if (network === undefined) throw new Error("there is no such network");
  return network;
}

/** One packet of each server to each address, and those from outside to forwarded ports. */
const asked = (topology: Topology): PacketQuestion[] =>
  questionsOf(topology).filter(
    ({ sender, by, port, bytes }) =>
      bytes === undefined && ((by === "udp" && port === 53) || (sender === null && by === "tcp")),
  );

/** A packet may arrive where the old state or the new one allows it, and nowhere else. */
async function shootBetween({ scene, cabling }: RunningTopology, old: Topology, wanted: Topology) {
  const questions = asked(old).length > asked(wanted).length ? asked(old) : asked(wanted);
  const flows = scene.station.flows(questions.length);
  const shots = questions.map(({ place, by, to, port, from }, index): Shot => {
    const how = { flow: flows[index] ?? 0, place, by, to, port: port ?? 0, until: "nothing" as const };
    return from === undefined ? how : { ...how, from };
  });
  const { arrived, overheard } = await scene.station.shoot(shots, { graceMs: 600 });
  const places = Map.groupBy(arrived, ({ flow }) => flow);
  const asides = Map.groupBy(overheard, ({ flow }) => flow);
  const violations = questions.flatMap((question, index) => {
    const flow = flows[index] ?? 0;
    const right = [old, wanted].map((topology) => expectationOf(topology, question).place);
    const way = cabling.mayPass(question.sender);
    return [
      ...(places.get(flow) ?? []).filter(({ place }) => !right.includes(place)),
      ...(asides.get(flow) ?? []).filter(({ place, device }) => !way.has(cabling.segmentAt(place, device))),
    ].map(({ place }) => `${question.name}: came to ${place}, where neither state lets it`);
  });
  return { packets: questions.length, violations };
}
