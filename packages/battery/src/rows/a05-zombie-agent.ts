import type { ServerJobKind } from "@kule/contract/schemas";
import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
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
import { stopAtEach } from "../job-kinds/zombie-batch.ts";
import { stopAtLoadBalancers } from "../load-balancer-jobs/stopped-agents.ts";
import { stopAtNetworks } from "../network-jobs/stopped-agents.ts";
import { atEdge, bothParts } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** Long enough that all agents of a batch reach their crash points before the first job may be taken over. */
const LEASE_SECONDS = 4;
const BATCH = 20;
const SAMPLE_SHARE = 0.1;
/** If hardly any of the continued agents was refused, the row proves nothing about the fence. */
const LEAST_REFUSED_SHARE = 0.3;

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
    bothParts(
      () =>
        bothParts(
          () => stopAtServers(run),
          () => stopAtLoadBalancers(run),
        ),
      () => atEdge(run, (testbed) => stopAtNetworks(run, testbed)),
    ),
};

function stopAtServers(run: RowRun): Promise<RowResult> {
  const exchanges: Exchange[] = [];
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS }, async (scene) => {
    const proxy = await HttpFaultProxy.open({
      target: new URL(scene.world.apiUrl).origin,
      random: run.random,
      keepsIdleConnections: true,
      onExchange: (exchange) => void exchanges.push(exchange),
    });
    try {
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
          apiOrigin: proxy.origin,
          exchanges,
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
      if (violations.length === 0 && refused < cases * LEAST_REFUSED_SHARE)
        violations.push(
          `only ${refused} writes of ${cases} agents were refused: the fence was hardly tested`,
        );
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
    } finally {
      await proxy.close();
    }
  });
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
