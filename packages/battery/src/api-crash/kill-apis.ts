import path from "node:path";
import type { MutationCase } from "@kule/api/testing/proofs/mutation-cases";
import { bundleApps } from "@kule/build/bundle-apps";
import type { RowResult, RowRun } from "../row.ts";
import type { BoundaryCase } from "./boundary-cases.ts";
import { KillLane, type LaneFindings } from "./kill-lane.ts";
import { WorkerLane } from "./kill-workers.ts";

const root = path.resolve(import.meta.dirname, "../../../..");
/** Databases with their APIs that run in parallel: a process spends half of its time waiting. */
const LANES = 3;
/** Part of every sample: a job, an address, a secret and a key that may be lost. */
const SAMPLED = "createServer";
const SAMPLED_POINTS = ["before-commit", "committed"];
const MORE_MUTATIONS = 3;
const MORE_CASES = 4;

/** Kills APIs at the boundaries of the mutations: all of them, or the few of a sample. */
export async function killApis(run: RowRun, mutationCases: () => MutationCase[]): Promise<RowResult> {
  const [main = ""] = (await bundleApps(["apps/api"])).map((file) => path.join(root, file));
  const findings: LaneFindings = { violations: [], recoverySeconds: [], cases: 0 };
  const mutations = run.scale === "full" ? mutationCases() : sampledMutations(run, mutationCases());
  const lanes = run.scale === "full" ? LANES : 1;
  let total = 0;
  const work = async (lane: number) => {
    const kills = await KillLane.open(main, findings);
    try {
      const learned = await kills.learn(mutations.filter((_, index) => index % lanes === lane));
      const cases = run.scale === "full" ? shuffled(learned, run) : sampledCases(run, learned);
      total += cases.length;
      await kills.kill(cases, () => {
        if (findings.cases % 20 === 0) run.progress(`${findings.cases} of ${total} APIs killed`);
      });
    } finally {
      await kills.close();
    }
  };
  const workers = async () => {
    const lane = await WorkerLane.open(main, findings);
    try {
      const cases = await lane.killAll();
      total += cases;
    } finally {
      await lane.close();
    }
  };
  await Promise.all([
    ...Array.from({ length: lanes }, (_, lane) => work(lane)),
    ...(run.scale === "full" ? [workers()] : []),
  ]);
  if (findings.cases !== total) findings.violations.push(`${total - findings.cases} cases did not run`);
  return {
    cases: findings.cases,
    violations: findings.violations,
    recoverySeconds: findings.recoverySeconds,
    figures: {
      mutations: mutations.length,
      operations: new Set(mutations.map(({ operation }) => operation)).size,
    },
  };
}

function sampledMutations(run: RowRun, all: readonly MutationCase[]): MutationCase[] {
  const always = all.filter(({ name }) => name === SAMPLED);
  const others = shuffled(
    all.filter(({ operation }) => operation !== SAMPLED),
    run,
  );
  return [...always, ...others.slice(0, MORE_MUTATIONS)];
}

function sampledCases(run: RowRun, learned: readonly BoundaryCase[]): BoundaryCase[] {
  const isAlways = ({ mutation, point }: BoundaryCase) =>
    mutation.name === SAMPLED && SAMPLED_POINTS.includes(point);
  const others = shuffled(
    learned.filter((each) => !isAlways(each)),
    run,
  );
  return [...learned.filter(isAlways), ...others.slice(0, MORE_CASES)];
}

function shuffled<Item>(items: readonly Item[], run: RowRun): Item[] {
  return items
    .map((item) => ({ item, at: run.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
