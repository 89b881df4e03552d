import type { Schemas } from "@kule/contract/schemas";
import { Failed } from "@kule/programs/errors";
import { machineBundle } from "@kule/programs/load-balancers/machine-bundle";
import type { RowResult, RowRun } from "../row.ts";
import { balancerTexts } from "./balancer-corpus.ts";
import { BalancerWorld } from "./balancer-world.ts";
import { fileDifferences } from "./file-differences.ts";
import { type Payload, plainTwin, type Shown } from "./plain-twin.ts";
import { proxiesOf } from "./running-haproxy.ts";
import { UnpackedState } from "./unpacked-state.ts";

/** After a few of them the next ones only say the same. */
const mostViolations = 20;

export async function runBalancerInput(run: RowRun): Promise<RowResult> {
  const texts = balancerTexts(run);
  const world = await BalancerWorld.open();
  const state = new UnpackedState();
  const violations: string[] = [];
  let [uses, accepted, states] = [0, 0, 0];
  let last: Shown | null = null;
  try {
    for (const [index, text] of texts.entries()) {
      const trial = await world.trial(text);
      uses += trial.accepted.length + trial.refused;
      accepted += trial.accepted.length;
      violations.push(...trial.violations);
      if (trial.payload !== null) {
        const took = `${JSON.stringify(text)}, which the API accepted as ${[...new Set(trial.accepted)].join(", ")}`;
        last = await world.shown();
        const found = await stateViolations(world, state, trial.payload, last);
        violations.push(...found.map((each) => `${took}: ${each}`));
        states += trial.payload.machines.length;
        await world.forgetTargets();
      }
      if (violations.length >= mostViolations) break;
      if ((index + 1) % 20 === 0)
        run.progress(`${index + 1} of ${texts.length} texts, ${violations.length} violations`);
    }
    if (last === null) violations.push("no text was accepted anywhere: nothing reached a machine");
    else if (violations.length === 0) violations.push(...(await runningViolations(last, state)));
    return {
      cases: uses,
      violations,
      figures: { texts: texts.length, "uses of a text": uses, "of them accepted": accepted, states },
    };
  } finally {
    state.close();
    await world.close();
  }
}

/** What is wrong with the state of each machine, whose programs' own check is asked as well. */
async function stateViolations(
  world: BalancerWorld,
  state: UnpackedState,
  payload: Payload,
  shown: Shown,
): Promise<string[]> {
  const found: string[] = [];
  const twin = plainTwin(payload, shown);
  const filesOf = (of: Payload, machine: Schemas["PayloadMachine"]) => {
    state.unpack(machineBundle(of, machine, world));
    return state.files();
  };
  // The first machine last: its state stays for haproxy.
  for (const machine of payload.machines.toSorted((one, other) => other.slot - one.slot))
    try {
      const plain = filesOf(twin.payload, machine);
      found.push(...fileDifferences(filesOf(payload, machine), plain, twin.meant));
      const refusal = await state.refusal();
      if (refusal !== null) found.push(`haproxy refuses it: ${refusal}`);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      found.push(`the region cannot use it: ${error.facts.internal}`);
    }
  return found;
}

/** What haproxy itself has made of the last state: the listeners and their targets, and nothing else. */
async function runningViolations({ listeners, targets }: Shown, state: UnpackedState): Promise<string[]> {
  const servers = targets.map(({ id, server }) => (server === null ? id : `${id}.${server}`));
  const has = new Set(await proxiesOf(state.place));
  const wanted = new Set(
    listeners.flatMap(({ id }) => [
      `${id}/FRONTEND`,
      ...servers.map((name) => `${id}/${name}`),
      `${id}/BACKEND`,
    ]),
  );
  return [
    ...[...has.difference(wanted)].map((name) => `haproxy has ${name}, which nobody asked for`),
    ...[...wanted.difference(has)].map((name) => `haproxy has no ${name}`),
  ];
}
