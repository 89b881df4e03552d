import type { EdgeNetwork } from "@kule/edge/edge-network";
import { LinuxEdge } from "@kule/edge/linux-edge";
import type { Command, Runner } from "@kule/edge/runner";
import type { Shot } from "@kule/testing/packets/volley";
import type { RowResult, RowRun } from "../row.ts";
import { type GatewayState, gatewayStates } from "./gateway-states.ts";
import { edgeNetworks, pastTheProduct } from "./gateways.ts";
import { wiring } from "./packet-scene.ts";
import { expectationOf, type PacketQuestion, questionsOf } from "./questions.ts";
import { shootQuestions } from "./shoot-questions.ts";
import type { Town } from "./town.ts";
import { type StandingTown, withTown } from "./with-town.ts";

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

/** Kills the change of a network between any two commands of it, and looks by packets at what is left. */
export function runKilledEdge(run: RowRun): Promise<RowResult> {
  return withTown(async (standing) => {
    const tally: Tally = { kills: 0, packets: 0, generation: pastTheProduct, violations: [], seconds: [] };
    const { scene, town } = standing;
    for (const network of edgeNetworks(town, [], tally.generation)) await scene.converge(network);
    const networkId = town.servers.find(({ name }) => name === "acme-one-app-1")?.networkId;
    const states = gatewayStates(town).map(({ name, gateways }) => ({
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
  standing: StandingTown,
  before: GatewayState,
  after: GatewayState,
  tally: Tally,
): Promise<void> {
  const { scene, town, cabling } = standing;
  const [old, wanted] = [before, after].map(
    ({ gateways }): Town => ({ ...town, intent: { ...town.intent, gateways } }),
  ) as [Town, Town];
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
    const judged = await shootQuestions(scene.station, cabling, wanted, questions);
    tally.packets += between.packets + questions.length;
    tally.violations.push(
      ...between.violations.map((text) => `${where}: ${text}`),
      ...judged.violations.map((text) => `${where}, and gone on: ${text}`),
    );
  }
}

/** The network that is changed, as a newer generation. */
function changing({ servers, ...town }: Town, tally: Tally): EdgeNetwork {
  tally.generation += 1;
  const networkId = servers.find(({ name }) => name === "acme-one-app-1")?.networkId;
  const network = edgeNetworks({ servers, ...town }, town.intent.gateways, tally.generation).find(
    (each) => each.networkId === networkId,
  );
  if (network === undefined) throw new Error("there is no such network");
  return network;
}

/** One packet of each server to each address, and those from outside to forwarded ports. */
const asked = (town: Town): PacketQuestion[] =>
  questionsOf(town).filter(
    ({ sender, by, port, bytes }) =>
      bytes === undefined && ((by === "udp" && port === 53) || (sender === null && by === "tcp")),
  );

/** A packet may come where the old state or the new one lets it, and nowhere else. */
async function shootBetween({ scene, cabling }: StandingTown, old: Town, wanted: Town) {
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
    const right = [old, wanted].map((town) => expectationOf(town, question).place);
    const way = cabling.mayPass(question.sender);
    return [
      ...(places.get(flow) ?? []).filter(({ place }) => !right.includes(place)),
      ...(asides.get(flow) ?? []).filter(({ place, device }) => !way.has(cabling.segmentAt(place, device))),
    ].map(({ place }) => `${question.name}: came to ${place}, where neither state lets it`);
  });
  return { packets: questions.length, violations };
}
