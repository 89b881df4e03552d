import type { ServerJobKind } from "@kule/contract/schemas";
import { stopAtCertificates } from "../certificate-jobs/stopped-agents.ts";
import { courseOfServer } from "../job-kinds/course.ts";
import {
  batchesOf,
  type CrashPlace,
  holdsJob,
  sampleOfEachStep,
  traceCrashPlaces,
} from "../job-kinds/crash-places.ts";
import { kindsOf } from "../job-kinds/kinds-of.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { SubjectPool } from "../job-kinds/subject-pool.ts";
import { takeSubjects } from "../job-kinds/take-subjects.ts";
import { withWatchedApi } from "../job-kinds/watched-api.ts";
import { stopAtEach, untestedFence } from "../job-kinds/zombie-batch.ts";
import { stopAtLoadBalancers } from "../load-balancer-jobs/stopped-agents.ts";
import { stopAtNetworks } from "../network-jobs/stopped-agents.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** Long enough that all agents of a batch reach their crash points before the first job may be taken over. */
const LEASE_SECONDS = 4;
const BATCH = 20;
const SAMPLE_SHARE = 0.1;

export const row: Row = {
  id: "A5",
  title: "Of an agent that is paused past its lease no write is accepted.",
  minutes: 25,
  mutants: [
    {
      name: "no-epoch-test",
      removes: "the comparison of a report's epoch with the job's",
      patches: [
        {
          file: "apps/api/src/agent/report-step.ts",
          find: "if (job.epoch !== report.epoch) throw new StaleLease(job.id);",
          replace: "",
        },
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and epoch = p_epoch and last_seq < p_seq",
          replace: "and last_seq < p_seq",
        },
      ],
      expects: /report \d+ under epoch \d+ of \S+ was answered 200/,
    },
  ],
  run: (run) =>
    inTurn(
      () => stopAtServers(run),
      () => stopAtLoadBalancers(run),
      () => stopAtCertificates(run),
      () => atEdge(run, (testbed) => stopAtNetworks(run, testbed)),
    ),
};

function stopAtServers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS }, (scene) =>
    withWatchedApi(scene, run, async (api) => {
      const violations: string[] = [];
      const pool = new SubjectPool(scene);
      const kinds = kindsOf(run.scale, run.random);
      const all = await traceCrashPlaces(scene, kinds, courseOfServer);
      let cases = 0;
      let [writes, refused, heldJobs] = [0, 0, 0];
      for (const { kind, successor, places } of plan(all, run.scale, run.random)) {
        const subjects = await takeSubjects(scene, pool, kind, places.length);
        const result = await stopAtEach(scene, {
          course: courseOfServer(kind),
          places,
          subjects,
          successor,
          leaseSeconds: LEASE_SECONDS,
          api,
        });
        cases += places.length;
        writes += result.writes;
        refused += result.refused;
        heldJobs += result.heldJobs;
        violations.push(...result.violations);
        run.progress(
          `${kind}, successor ${successor}: ${cases} agents, ${refused} of ${writes} writes refused`,
        );
        if (result.violations.length > 0) break;
        pool.put(kind, subjects);
      }
      if (violations.length === 0) violations.push(...untestedFence("of servers", cases, refused));
      if (violations.length === 0 && heldJobs === 0)
        violations.push("no successor was in the middle of its job when the others came back");
      return {
        cases,
        violations,
        figures: {
          kinds: kinds.length,
          "crash points": [...all.values()].flat().length,
          "writes of agents that came back": writes,
          "of them accepted": writes - refused,
          "of them refused": refused,
          "successors in the middle of the job": heldJobs,
          "lease in seconds": LEASE_SECONDS,
        },
      };
    }),
  );
}

type Planned = {
  readonly kind: ServerJobKind;
  readonly successor: "done" | "in the middle";
  readonly places: readonly CrashPlace[];
};

const SUCCESSORS = ["in the middle", "done"] as const;

/**
 * Every crash point of every kind; alternately the successor has finished or is in the middle when the
 * stopped agent continues. A sample has some crash points of each step, and one of the two for each kind.
 */
function plan(
  all: ReadonlyMap<ServerJobKind, readonly CrashPlace[]>,
  scale: "full" | "sample",
  random: () => number,
): Planned[] {
  return [...all].flatMap(([kind, traced], turn) => {
    const places = traced.filter(holdsJob);
    if (places.length === 0) throw new Error(`${kind} has no crash points`);
    if (scale === "sample") {
      const some = sampleOfEachStep(places, SAMPLE_SHARE, random);
      return [{ kind, successor: SUCCESSORS[turn % 2] ?? "done", places: some.slice(0, BATCH) }];
    }
    return SUCCESSORS.flatMap((successor, index) =>
      batchesOf(
        places.filter((_, place) => place % 2 === index),
        BATCH,
      ).map((batch) => ({ kind, successor, places: batch })),
    );
  });
}
