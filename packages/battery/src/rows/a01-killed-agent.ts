import { killAtCertificates } from "../certificate-jobs/killed-agents.ts";
import { courseOfServer } from "../job-kinds/course.ts";
import { killAtEach } from "../job-kinds/crash-batch.ts";
import { batchesOf, holdsJob, sampleOfEachStep, traceCrashPlaces } from "../job-kinds/crash-places.ts";
import { ALWAYS_SAMPLED, kindsOf } from "../job-kinds/kinds-of.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { SubjectPool } from "../job-kinds/subject-pool.ts";
import { takeSubjects } from "../job-kinds/take-subjects.ts";
import { percentile } from "../judgement.ts";
import { killAtLoadBalancers } from "../load-balancer-jobs/killed-agents.ts";
import { killAtNetworks } from "../network-jobs/killed-agents.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** Long enough that all agents of a batch reach their crash points before the first job may be taken over. */
const LEASE_SECONDS = 5;
/** Agents that are killed side by side. */
const BATCH = 20;
/**
 * The share of the crash points of each step for the kind that shows mutants; other kinds have one. The
 * sample expires leases itself, too.
 */
const SAMPLE_SHARE = 1 / 3;
/** A program with fewer places than this has lost them. */
const LEAST_PLACES = 10;
/** A job without a holder must be claimed again within two leases; the rest is for a slow machine. */
const SLOWEST_RECOVERY_LEASES = 6;

export const row: Row = {
  id: "A1",
  title: "An agent killed at any point of a job delays the job by seconds and has no other effect.",
  minutes: 20,
  mutants: [
    {
      name: "blind-clone",
      removes: "the observation before the first step, and the VM number that only this job has",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/program.ts",
          find: "const sighting = await settledSighting(world, want.vmid, want.owner, want.templateVmid, effect);",
          replace: `const runs: WeakSet<object> = ((globalThis as any).blindRuns ??= new WeakSet());
    const isFirst = effect.signal !== undefined && !runs.has(effect.signal);
    if (effect.signal !== undefined) runs.add(effect.signal);
    const sighting = isFirst
      ? ({ state: "absent" } as const)
      : await settledSighting(world, want.vmid, want.owner, want.templateVmid, effect);`,
        },
        {
          file: "packages/proxmox/src/proxmox-hypervisor.ts",
          find: "newid: vmid,",
          replace:
            'newid: await this.#client.call("GET /cluster/nextid", { vmid }).then(() => vmid, () => vmid + 5_000),',
        },
      ],
      expects: /I1 a server has one VM/,
    },
    {
      name: "no-take-over",
      removes: "the claim of a job whose lease has expired",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/job-queue.ts",
          find: "and kind = any (p_capabilities) and attempt < max_attempts",
          replace: "and kind = any (p_capabilities) and attempt < 0",
        },
      ],
      expects: /is (running|queued) in attempt|after its lease had expired/,
    },
    {
      name: "started-unfiltered",
      removes: "the order in which a new VM gets its rules and is started",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/plan.ts",
          find: `  return steps;
}`,
          replace: `  return steps.toSorted((one, other) => Number(one.do === "firewall") - Number(other.do === "firewall"));
}`,
        },
      ],
      expects: /was started with \d+ of its \d+ rules/,
    },
    {
      name: "rules-one-by-one",
      removes: "the one transaction in which an edge's rules are replaced",
      patches: [
        {
          file: "packages/edge/src/apply.ts",
          find: `      return [
        {
          words: ["ip", "netns", "exec", namespace, "sh", "-c", nftFromInput],
          input: JSON.stringify({ nftables: replacement(step, rules) }),
        },
      ];`,
          replace: `      return replacement(step, rules).map((each) => ({
        words: ["ip", "netns", "exec", namespace, "sh", "-c", nftFromInput],
        input: JSON.stringify({ nftables: [each] }),
      }));`,
        },
      ],
      expects: /rules of neither the old state nor the new/,
    },
    {
      name: "links-not-looked-at",
      removes: "the comparison of an edge's links with those that are wanted",
      patches: [
        {
          file: "packages/edge/src/plan.ts",
          find: "const isRight = seen.isUp && staleAddresses.length === 0 && seen.addresses.includes(link.address);",
          replace: "const isRight = seen.name === link.name;",
        },
      ],
      expects: /I14 an edge holds what is wanted of a network: \S+ has a link/,
    },
    {
      name: "machines-not-noted",
      removes: "the record of what each machine of a load balancer has",
      patches: [
        {
          file: "apps/api/src/products/load-balancers/settle.ts",
          find: 'if (outcome !== "applied") continue;',
          replace: 'if (outcome !== "silent") continue;',
        },
      ],
      expects: /the load balancer \S+ is \w+ with generation \d+ of \d+/,
    },
  ],
  run: (run) =>
    inTurn(
      () => killAtServers(run),
      () => killAtLoadBalancers(run),
      () => killAtCertificates(run),
      () => atEdge(run, ...killAtNetworks(run)),
    ),
};

function killAtServers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: LEASE_SECONDS, labTimeScale: 0.01 }, async (scene) => {
    const violations: string[] = [];
    const recoverySeconds: number[] = [];
    const pool = new SubjectPool(scene);
    const kinds = kindsOf(run.scale, run.random);
    const all = await traceCrashPlaces(scene, kinds, courseOfServer);
    // Crash points before an agent has a job are the same for every kind: one kind covers them all.
    const whole = kinds[Math.floor(run.random() * kinds.length)];
    let [cases, points] = [0, 0];
    for (const kind of kinds) {
      const traced = (all.get(kind) ?? []).filter((place) => kind === whole || holdsJob(place));
      points += traced.length;
      if (traced.length < LEAST_PLACES) violations.push(`${kind} has only ${traced.length} crash points`);
      const places =
        run.scale === "full"
          ? traced
          : sampleOfEachStep(traced, kind === ALWAYS_SAMPLED ? SAMPLE_SHARE : 0, run.random);
      for (const batch of batchesOf(places, BATCH)) {
        const subjects = await takeSubjects(scene, pool, kind, batch.length);
        const result = await killAtEach(scene, courseOfServer(kind), batch, subjects, {
          passLeases: run.scale === "sample",
        });
        cases += batch.length;
        violations.push(...result.violations);
        recoverySeconds.push(...result.recoverySeconds);
        run.progress(`${kind}: ${cases} kills, ${violations.length} violations`);
        // After a violation in one batch, the next ones would only find it again.
        if (result.violations.length > 0) return { cases, violations, recoverySeconds };
        pool.put(kind, subjects);
      }
    }
    const slowest = Math.max(0, ...recoverySeconds) / LEASE_SECONDS;
    if (slowest > SLOWEST_RECOVERY_LEASES)
      violations.push(`a job took ${slowest.toFixed(1)} leases to be brought to its end`);
    const p95 = percentile(recoverySeconds, 0.95);
    return {
      cases,
      violations,
      recoverySeconds,
      figures: {
        kinds: kinds.length,
        "crash points": points,
        "lease in seconds": LEASE_SECONDS,
        ...(p95 === null ? {} : { "p95 recovery in leases": Number((p95 / LEASE_SECONDS).toFixed(2)) }),
      },
    };
  });
}
