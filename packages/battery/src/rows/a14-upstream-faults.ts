import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import type { Work } from "../job-kinds/course.ts";
import { DETOURS } from "../job-kinds/detours.ts";
import { stepsOf } from "../job-kinds/failing-steps.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { sampleReads } from "../job-kinds/read-sampler.ts";
import { brokenInvariants, newSubject } from "../job-kinds/scene.ts";
import { shortDeadlineWorld } from "../job-kinds/short-deadline-world.ts";
import { SubjectPool } from "../job-kinds/subject-pool.ts";
import { type UpstreamCase, upstreamCase } from "../job-kinds/upstream-case.ts";
import { UPSTREAM_FAULTS } from "../job-kinds/upstream-faults.ts";
import { faultsAtLoadBalancers } from "../load-balancer-jobs/failing-machines.ts";
import { faultsAtNetworks } from "../network-jobs/faulty-edge.ts";
import { lossesAtNetworks } from "../network-jobs/lost-edges.ts";
import { atEdge, inTurn } from "../network-jobs/without-edge.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

/** The whole world is checked after so many cases. */
const BATCH = 10;
/** Reads do not touch a region; one that takes this long waited for something that does. */
const SLOW_READ_MILLISECONDS = 1_000;
/** Faults that the row's mutants show in: a sample has them with every kind. */
const ALWAYS = new Set(["a task that ends OK and has done nothing", "tasks that cannot get their lock"]);

export const row: Row = {
  id: "A14",
  title: "Whatever a region answers, or does not, a job ends: succeeded, or failed with a known error code.",
  minutes: 12,
  mutants: [
    {
      name: "no-verify",
      removes: "the observation of the region after the last step",
      patches: [
        {
          file: "packages/programs/src/run-program.ts",
          find: 'lastPlan = trouble === null ? plan : "";',
          replace:
            'lastPlan = trouble === null ? plan : "";\n      if (trouble === null && /^Server(?!Create)/.test(this.#program.kind) && !plan.includes("clone")) return { power_state: this.#program.kind === "ServerStop" || this.#program.kind === "ServerDestroy" ? "off" : "on" };',
        },
      ],
      expects: /ends OK and has done nothing.*has succeeded and the VM is/,
    },
    {
      name: "task-result-not-read",
      removes: "the check of a task's result",
      patches: [
        {
          file: "packages/proxmox/src/task.ts",
          find: 'if (exitStatus === "OK") return { warnings: null };',
          replace: 'if (exitStatus !== "") return { warnings: null };',
        },
      ],
      expects: /cannot get their lock.*not_converged/,
    },
    {
      name: "lost-networks-not-told",
      removes: "the re-apply of networks that an edge has lost",
      patches: [
        {
          file: "apps/api/src/products/networks/apply-lost.ts",
          find: 'return applyEach(db, lost, "lost by the edge");',
          replace: "return lost.length;",
        },
      ],
      expects: /an edge that has lost a network: it was not told of it again/,
    },
    {
      name: "late-reports-believed",
      removes: "the age check of a report of an edge's networks",
      patches: [
        {
          file: "apps/api/src/products/networks/apply-lost.ts",
          find: "const reportSeconds = 30;",
          replace: "const reportSeconds = -30;",
        },
      ],
      expects: /told once more for a report from before it was told/,
    },
    {
      name: "stranded-jobs-left",
      removes: "the end of jobs that no agent claims, since there is no edge",
      patches: [
        {
          file: "apps/api/src/products/networks/edge-gone.ts",
          find: "if (queued === null || has_edge) return false;",
          replace: "if (queued === null || has_edge || message.length > 0) return false;",
        },
      ],
      expects: /a region file that has lost its edge: the job that nobody takes is queued/,
    },
    {
      name: "stranded-networks-left",
      removes: "the re-apply of missed networks once an edge is back",
      patches: [
        {
          file: "apps/api/src/products/networks/edge-gone.ts",
          find: "if (network === null || (await hasOpenJob(tx, organisation_id, id))) return;",
          replace: "if (network !== null || (await hasOpenJob(tx, organisation_id, id))) return;",
        },
      ],
      expects: /it was not told of again when the edge was back/,
    },
  ],
  // Without jobs of certificates: their program calls nothing of a region, so no answer of one can disturb it. What a CA
  // answers, and what happens to workers and reports, is row A22.
  run: (run) =>
    inTurn(
      () => atEdge(run, (testbed) => lossesAtNetworks(run, testbed)),
      () => faultsAtServers(run),
      () => faultsAtLoadBalancers(run),
      () => atEdge(run, (testbed) => faultsAtNetworks(run, testbed)),
    ),
};

function faultsAtServers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const violations: string[] = [];
    const cases = await plannedCases(scene, run);
    const reader = await newSubject(scene);
    const reads = sampleReads(() => reader.api.get("/servers"));
    const ends = { succeeded: 0, failed: 0, open: 0 };
    let atOnce = 0;
    let retried = 0;
    const work: Work = (subject, kind) => scene.work(subject, kind);
    const pool = new SubjectPool(scene);
    for (const [index, planned] of cases.entries()) {
      const what = `${planned.kind}, ${planned.fault.name} at ${planned.step}`;
      const found: string[] = [];
      try {
        const [subject = await newSubject(scene)] = await pool.take(planned.kind, 1, work);
        const { end, attempts, violations: seen } = await upstreamCase(scene, subject, planned);
        found.push(...seen);
        ends[end] += 1;
        if (attempts > 1) retried += 1;
        else if (end === "succeeded") atOnce += 1;
        if (seen.length === 0) pool.put(planned.kind, [subject]);
      } catch (error) {
        // What an earlier fault has left behind may keep a later case from being prepared.
        found.push(`it could not be tried: ${String(error).slice(0, 300)}`);
      }
      violations.push(...found.map((text) => `${what}: ${text}`));
      scene.lab.lab.faults.clear();
      scene.lab.lab.faults.tasks.clear();
      if ((index + 1) % BATCH === 0 || index + 1 === cases.length || found.length > 0) {
        const broken = await brokenInvariants(scene);
        violations.push(...broken.map((text) => `up to ${what}: ${text}`));
        run.progress(`${index + 1} of ${cases.length} faults, ${violations.length} violations`);
      }
    }
    const { count, p99Milliseconds, refused } = await reads.stop();
    if (count < cases.length) violations.push(`only ${count} reads were made meanwhile`);
    if (refused.length > 0) violations.push(`reads were answered ${[...new Set(refused)].join(", ")}`);
    if (p99Milliseconds > SLOW_READ_MILLISECONDS)
      violations.push(`the slowest of 100 reads took ${Math.round(p99Milliseconds)} ms meanwhile`);
    return {
      cases: cases.length,
      violations: [...new Set(violations)],
      figures: {
        "kinds of fault": UPSTREAM_FAULTS.length,
        "done in the first attempt": atOnce,
        "tried more than once": retried,
        "failed with a name, then done": ends.failed,
        "reads meanwhile": count,
        "their p99 in ms": Math.round(p99Milliseconds),
      },
    };
  }, shortDeadlineWorld);
}

/** Every fault at every step of every kind; a sample has each fault and each kind at least once. */
async function plannedCases(scene: LocalScene, run: RowRun): Promise<UpstreamCase[]> {
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const possible: UpstreamCase[] = [];
  for (const kind of SERVER_JOB_KINDS) {
    const [plain] = DETOURS[kind];
    if (plain === undefined) throw new Error(`${kind} has no plain course`);
    for (const step of await stepsOf(scene, kind, plain, work))
      for (const fault of UPSTREAM_FAULTS)
        if (fault.meets(kind, step)) possible.push({ kind, step: step.name, fault });
  }
  if (run.scale === "full") return possible;
  const oneOf = (group: readonly UpstreamCase[]) => group[Math.floor(run.random() * group.length)] ?? [];
  const groups = Map.groupBy(possible, ({ fault, kind }) =>
    ALWAYS.has(fault.name) ? `${fault.name} ${kind}` : fault.name,
  );
  const chosen = [...groups.values()].flatMap(oneOf);
  const missing = SERVER_JOB_KINDS.filter((kind) => !chosen.some((each) => each.kind === kind));
  return [...chosen, ...missing.flatMap((kind) => oneOf(possible.filter((each) => each.kind === kind)))];
}
