import type { ServerJobKind } from "@kule/contract/schemas";
import type { StepEvent } from "@kule/programs/program";
import { RegionScanner, type UnreportedScan } from "../drift/region-scanner.ts";
import { endViolations, subjectFor, type Work } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { SCENARIOS } from "../job-kinds/scenarios.ts";
import { vmidOf } from "../job-kinds/scene.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** Jobs during which a VM temporarily differs from its old and its new state. */
const KINDS: readonly ServerJobKind[] = [
  "ServerCreate",
  "ServerResize",
  "ServerPower",
  "ServerUpdate",
  "FirewallApply",
  "ServerReconcile",
  "PublicIpAttach",
  "PublicIpDetach",
  "ServerRebuild",
  "ServerAdopt",
  "ServerStop",
  "ServerRestore",
  "ServerDestroy",
];

/** The kinds of a sample. */
const SAMPLED: ReadonlySet<ServerJobKind> = new Set([
  "ServerCreate",
  "ServerResize",
  "ServerUpdate",
  "PublicIpAttach",
  "ServerStop",
  "ServerDestroy",
]);

/**
 * The kinds whose late scans show most: in the first round their scans are late, in the second the others',
 * and so on.
 */
const LATE_FIRST: ReadonlySet<ServerJobKind> = new Set(["PublicIpAttach", "ServerStop", "ServerDestroy"]);

const ROUNDS = { sample: 1, full: 4 } as const;

export const row: Row = {
  id: "B8",
  title:
    "However scans of a region overlap with its jobs, and however late they are reported, none reports a job's work as drift or reverts it.",
  minutes: 2,
  mutants: [
    {
      name: "open-jobs-not-skipped",
      removes: "ignoring servers with an open job",
      patches: [
        {
          file: "apps/api/src/products/inventory/observe-servers.ts",
          find: "if (hasOpenJob) return false;",
          replace: "if (hasOpenJob && server.vcpu === 0) return false;",
        },
      ],
      expects: /is drift|followed a look/,
    },
    {
      name: "old-looks-believed",
      removes: "the comparison of a scan's time with the end of the last job",
      patches: [
        {
          file: "apps/api/src/products/inventory/observe-servers.ts",
          find: "if (lastJobEnd !== null && lastJobEnd >= lookedAt) return false;\n  return server.observed_at === null || server.observed_at < lookedAt;",
          replace: "return lookedAt !== null;",
        },
      ],
      expects: /is drift|followed a look/,
    },
    {
      name: "destroyed-vms-not-history",
      removes: "the lookup of the former server of a marked VM",
      patches: [
        {
          file: "apps/api/src/products/inventory/record-batch.ts",
          find: "if (holder === null && isHistory(sighting, strangers)) continue;",
          replace: "if (holder === null && strangers.size < 0 && isHistory(sighting, strangers)) continue;",
        },
      ],
      expects: /ServerDestroy.*extra \d+ .*is drift/,
    },
    {
      name: "told-at-once",
      removes: "the second scan before drift is reported",
      patches: [
        {
          file: "apps/api/src/products/inventory/drift-notes.ts",
          find: "export const sightingsToReport = 2;",
          replace: "export const sightingsToReport = 1;",
        },
      ],
      expects: /a moment of a change is told/,
    },
  ],
  run: (run) => LocalScene.use((scene) => rowOf(scene, run)),
};

async function rowOf(scene: LocalScene, run: RowRun) {
  const testScanner = new RegionScanner(scene);
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const violations: string[] = [];
  const kinds = run.scale === "full" ? KINDS : KINDS.filter((kind) => SAMPLED.has(kind));
  /** VMs that were imported: from now on they are reported as different from their packages. */
  const strange: number[] = [];
  let cases = 0;
  for (let round = 0; round < ROUNDS[run.scale] && violations.length === 0; round += 1) {
    for (const kind of kinds) {
      const subject = await subjectFor(scene, kind, work);
      // What came before is settled and scanned.
      await testScanner.look();
      const since = await consecutiveScans(scene);
      await SCENARIOS[kind].cause(scene, subject);
      const among = new ScansDuringSteps(testScanner, run, (round % 2 === 0) === LATE_FIRST.has(kind));
      await among.between();
      await scene.work(subject, kind, { onEvent: (event) => among.onEvent(event) });
      await among.afterwards();
      violations.push(
        ...(await endViolations(scene, subject, kind)),
        ...(await driftOf(scene, strange)).map((text) => `${kind} of ${subject.server}: ${text} is drift`),
        ...(await consecutiveScans(scene))
          .slice(since.length)
          .map((text) => `${kind} of ${subject.server}: the record followed a look: ${text}`),
      );
      cases += among.looks;
      if (kind === "ServerAdopt") strange.push(await vmidOf(scene, subject));
    }
    violations.push(...(await temporaryDriftViolations(scene, testScanner, work)));
    cases += 1;
    run.progress(`${testScanner.looks} looks among the steps of ${(round + 1) * kinds.length} jobs`);
  }
  violations.push(...(await worldViolations(scene.ownerUrl, "at the end")));
  return { cases, violations, figures: { "kinds of jobs": kinds.length, looks: testScanner.looks } };
}

/**
 * Scans during a job's steps, at random: reported at once, some steps later, or after the job. A late one
 * reports after the job the state from before its first step.
 */
class ScansDuringSteps {
  readonly #testScanner: RegionScanner;
  readonly #run: RowRun;
  readonly #isLate: boolean;
  #held: UnreportedScan | null = null;
  looks = 0;

  constructor(testScanner: RegionScanner, run: RowRun, isLate: boolean) {
    this.#testScanner = testScanner;
    this.#run = run;
    this.#isLate = isLate;
  }

  /** At a step: the pending scan is reported, or kept; and another scan begins when none is pending. */
  async between(): Promise<void> {
    if (this.#held !== null) {
      if (this.#run.random() < 0.6) await this.#tell();
      return;
    }
    this.#held = await this.#testScanner.see();
    this.looks += 1;
    if (!this.#isLate && this.#run.random() < 0.6) await this.#tell();
  }

  async onEvent({ status }: StepEvent): Promise<void> {
    if (this.#isLate) return;
    if (status === "running" || this.#run.random() < 0.5) await this.between();
  }

  /** The job has ended; what was seen while it ran is reported now, and the region is scanned again. */
  async afterwards(): Promise<void> {
    await this.#tell();
  }

  async #tell(): Promise<void> {
    if (this.#held !== null) await this.#testScanner.tell(this.#held);
    this.#held = null;
  }
}

/** All recorded drift, reported or not: a second scan like it would report it. */
async function driftOf(scene: LocalScene, strange: readonly number[]): Promise<string[]> {
  const { rows } = await scene.owner.query<{ what: string }>(
    "select kind || ' ' || vmid || ' (' || message || ')' as what from drift where vmid <> all($1) order by vmid",
    [strange],
  );
  return rows.map(({ what }) => what);
}

/** Changes of status or power that a scan has caused. */
async function consecutiveScans(scene: LocalScene): Promise<string[]> {
  const { rows } = await scene.owner.query<{ what: string }>(
    "select resource || ' ' || details::text as what from audit where action = 'server.observe' order by id",
  );
  return rows.map(({ what }) => what);
}

/** A VM is changed manually, one scan sees it, and it is corrected: what one scan saw is not reported. */
async function temporaryDriftViolations(
  scene: LocalScene,
  testScanner: RegionScanner,
  work: Work,
): Promise<string[]> {
  const vmid = await vmidOf(scene, await subjectFor(scene, "ServerStop", work));
  await testScanner.look();
  const cores = scene.lab.lab.control.vm(vmid)?.config.cores ?? "1";
  const found: string[] = [];
  for (const seen of ["9", cores, "9", cores]) {
    await scene.changeOutsideKule("editConfig", vmid, { cores: seen });
    await testScanner.look();
    if ((await testScanner.told()).some((each) => each.vmid === vmid))
      found.push("a moment of a change is told");
  }
  return found;
}
