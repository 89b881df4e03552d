import { startRegionWorld } from "@kule/testing/region-world";
import { claimViolations, JobJournal, jobChangeViolations } from "@kule/testing/rig/job-journal";
import { batches, type CrashCase } from "@kule/testing/system/crash-points";
import { ServerLives } from "../delivery/server-lives.ts";
import { percentile } from "../judgement.ts";
import type { Row, RowRun } from "../row.ts";
import { stopApi } from "../shutdown/draining-api.ts";
import { add, noFindings, placesOfCreate, type Scene } from "../shutdown/shutdown-scene.ts";
import { stopAtMoments, stopAtPlaces } from "../shutdown/stopped-agents.ts";

const SCALE = {
  sample: { places: 4, moments: 1, apiStops: 2 },
  full: { places: Number.POSITIVE_INFINITY, moments: 6, apiStops: 8 },
};
/** Agents that are held at the same time. */
const BATCH = 8;
const HAND_BACK_SECONDS = 5;

export const row: Row = {
  id: "A17",
  title: "On SIGTERM an agent releases its jobs and the API drains its requests.",
  minutes: 1.5,
  mutants: [
    {
      name: "no-hand-back",
      removes: "the release of jobs when an agent stops",
      patches: [
        {
          file: "apps/agent/src/agent.ts",
          find: "await claims.releaseJobs(GRACE_MILLISECONDS);",
          replace: "",
        },
        { file: "apps/agent/src/agent.ts", find: "await claims.releaseJobs(0);", replace: "" },
      ],
      expects: /was still held by .* after it had ended/,
    },
    {
      name: "no-drain",
      removes: "the wait for running requests when the API stops",
      patches: [
        {
          file: "apps/api/src/commands/serve.ts",
          find: "await drained(server);",
          replace: "(server as Server).close(); (server as Server).closeAllConnections();",
        },
      ],
      expects: /took effect and was not answered/,
    },
  ],
  async run(run) {
    // Far longer than a hand-back: nothing here may be waiting for a lease. Tasks take a moment, to be in the middle of.
    const world = await startRegionWorld({
      leaseSeconds: 40,
      removalBufferSeconds: 3600,
      labTimeScale: 0.02,
    });
    const lives = new ServerLives(world);
    try {
      const scene: Scene = { run, world, lives, journal: await JobJournal.install(world.database.ownerUrl) };
      const all = await placesOfCreate(scene);
      const violations: string[] = [];
      if (all.length < 20) violations.push(`a create passes only ${all.length} places`);
      const places = chosen(run, all);
      const handBackSeconds: number[] = [];
      const [held, moments, api] = [noFindings(), noFindings(), noFindings()];
      // A violation at one stage would only make the next ones wait for leases.
      for (const batch of batches(places, BATCH)) {
        if (violations.length > 0) break;
        add(held, await stopAtPlaces(scene, batch));
        violations.push(...held.violations);
        run.progress(`${held.cases} agents were told to stop at ${places.length} places`);
      }
      if (violations.length === 0) {
        add(moments, await stopAtMoments(scene, SCALE[run.scale].moments));
        violations.push(...moments.violations);
      }
      handBackSeconds.push(...held.seconds, ...moments.seconds);
      const p95 = percentile(handBackSeconds, 0.95);
      if (p95 === null || p95 >= HAND_BACK_SECONDS)
        violations.push(`jobs were handed back in ${p95?.toFixed(1)} s (p95), not in ${HAND_BACK_SECONDS} s`);
      let drained = { creates: 0, cut: 0 };
      if (violations.length === 0) {
        const found = await stopApi(scene, SCALE[run.scale].apiStops);
        drained = found;
        add(api, found);
      }
      const changes = await scene.journal.changes();
      violations.push(...api.violations, ...jobChangeViolations(changes), ...claimViolations(changes));
      return {
        cases: held.cases + moments.cases + api.cases,
        violations,
        recoverySeconds: handBackSeconds,
        figures: {
          "jobs held at a place of their program": held.cases,
          "jobs held at a moment of chance": moments.cases,
          "hand-back p95 in seconds": p95?.toFixed(2) ?? "none",
          "stops of the API": api.cases,
          "longest stop of the API in seconds": Math.max(0, ...api.seconds).toFixed(1),
          "creates meanwhile": drained.creates,
          "requests without an answer, and without effect": drained.cut,
        },
      };
    } finally {
      await lives.close();
      await world.end();
    }
  },
};

/** As many as the scale needs, by the seed. */
function chosen(run: RowRun, all: readonly CrashCase[]): CrashCase[] {
  const wanted = SCALE[run.scale].places;
  if (wanted >= all.length) return [...all];
  const left = [...all];
  return Array.from({ length: wanted }, () => left.splice(Math.floor(run.random() * left.length), 1)).flat();
}
