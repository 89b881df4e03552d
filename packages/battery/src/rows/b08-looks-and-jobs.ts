import type { ServerJobKind } from "@kule/contract/schemas";
import type { StepEvent } from "@kule/programs/program";
import { RegionLooker, type UntoldLook } from "../drift/region-looker.ts";
import { endViolations, subjectFor, type Work } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { SCENARIOS } from "../job-kinds/scenarios.ts";
import { vmidOf } from "../job-kinds/scene.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** Jobs in whose course a VM is for a while not as it was, or not yet as it is to be. */
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

/** What a sample has the time for. */
const SAMPLED: ReadonlySet<ServerJobKind> = new Set([
  "ServerCreate",
  "ServerResize",
  "ServerUpdate",
  "PublicIpAttach",
  "ServerStop",
  "ServerDestroy",
]);

/** Those whose late looks show most: in the first round theirs are late, in the second the others', and so on. */
const LATE_FIRST: ReadonlySet<ServerJobKind> = new Set(["PublicIpAttach", "ServerStop", "ServerDestroy"]);

const ROUNDS = { sample: 1, full: 4 } as const;

export const row: Row = {
  id: "B8",
  title:
    "However looks at a region fall among its jobs, and however late they are told, none calls a job's work drift or undoes it.",
  minutes: 2,
  mutants: [
    {
      name: "open-jobs-not-skipped",
      removes: "leaving alone what has an open job",
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
      removes: "the comparison of a look's time with the end of the last job",
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
      removes: "the look at what became of the server that a marked VM had",
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
      removes: "the second sighting before drift is told",
      patches: [
        {
          file: "apps/api/src/products/inventory/drift-notes.ts",
          find: "export const sightingsToTell = 2;",
          replace: "export const sightingsToTell = 1;",
        },
      ],
      expects: /a moment of a change is told/,
    },
  ],
  run: (run) => LocalScene.use((scene) => rowOf(scene, run)),
};

async function rowOf(scene: LocalScene, run: RowRun) {
  const looker = new RegionLooker(scene);
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const violations: string[] = [];
  const kinds = run.scale === "full" ? KINDS : KINDS.filter((kind) => SAMPLED.has(kind));
  /** VMs that were imported: from now on they are told for not being as their packages want them. */
  const strange: number[] = [];
  let cases = 0;
  for (let round = 0; round < ROUNDS[run.scale] && violations.length === 0; round += 1) {
    for (const kind of kinds) {
      const subject = await subjectFor(scene, kind, work);
      // What came before is settled and seen as it is.
      await looker.look();
      const since = await followedLooks(scene);
      await SCENARIOS[kind].cause(scene, subject);
      const among = new LooksAmongSteps(looker, run, (round % 2 === 0) === LATE_FIRST.has(kind));
      await among.between();
      await scene.work(subject, kind, { onEvent: (event) => among.onEvent(event) });
      await among.afterwards();
      violations.push(
        ...(await endViolations(scene, subject, kind)),
        ...(await driftOf(scene, strange)).map((text) => `${kind} of ${subject.server}: ${text} is drift`),
        ...(await followedLooks(scene))
          .slice(since.length)
          .map((text) => `${kind} of ${subject.server}: the record followed a look: ${text}`),
      );
      cases += among.looks;
      if (kind === "ServerAdopt") strange.push(await vmidOf(scene, subject));
    }
    violations.push(...(await momentViolations(scene, looker, work)));
    cases += 1;
    run.progress(`${looker.looks} looks among the steps of ${(round + 1) * kinds.length} jobs`);
  }
  violations.push(...(await worldViolations(scene.ownerUrl, "at the end")));
  return { cases, violations, figures: { "kinds of jobs": kinds.length, looks: looker.looks } };
}

/**
 * Looks that fall among a job's steps, as the generator has it: told at once, some steps later, or after the job. A late one
 * tells after the job what was there before its first step.
 */
class LooksAmongSteps {
  readonly #looker: RegionLooker;
  readonly #run: RowRun;
  readonly #isLate: boolean;
  #held: UntoldLook | null = null;
  looks = 0;

  constructor(looker: RegionLooker, run: RowRun, isLate: boolean) {
    this.#looker = looker;
    this.#run = run;
    this.#isLate = isLate;
  }

  /** At a step: told is what is held, or it is held on; and another look is begun when none is. */
  async between(): Promise<void> {
    if (this.#held !== null) {
      if (this.#run.random() < 0.6) await this.#tell();
      return;
    }
    this.#held = await this.#looker.see();
    this.looks += 1;
    if (!this.#isLate && this.#run.random() < 0.6) await this.#tell();
  }

  async onEvent({ status }: StepEvent): Promise<void> {
    if (this.#isLate) return;
    if (status === "running" || this.#run.random() < 0.5) await this.between();
  }

  /** The job is over; what was seen while it ran is told now, and it is looked at as it is. */
  async afterwards(): Promise<void> {
    await this.#tell();
  }

  async #tell(): Promise<void> {
    if (this.#held !== null) await this.#looker.tell(this.#held);
    this.#held = null;
  }
}

/** Whatever is noted, told or not: a second look like it would tell it. */
async function driftOf(scene: LocalScene, strange: readonly number[]): Promise<string[]> {
  const { rows } = await scene.owner.query<{ what: string }>(
    "select kind || ' ' || vmid || ' (' || message || ')' as what from drift where vmid <> all($1) order by vmid",
    [strange],
  );
  return rows.map(({ what }) => what);
}

/** Changes of status or power that a look has led to. */
async function followedLooks(scene: LocalScene): Promise<string[]> {
  const { rows } = await scene.owner.query<{ what: string }>(
    "select resource || ' ' || details::text as what from audit where action = 'server.observe' order by id",
  );
  return rows.map(({ what }) => what);
}

/** Somebody changes a VM, one look sees it, and it is put right: what one look saw is not told. */
async function momentViolations(scene: LocalScene, looker: RegionLooker, work: Work): Promise<string[]> {
  const vmid = await vmidOf(scene, await subjectFor(scene, "ServerStop", work));
  await looker.look();
  const cores = scene.lab.lab.control.vm(vmid)?.config.cores ?? "1";
  const found: string[] = [];
  for (const seen of ["9", cores, "9", cores]) {
    await scene.behindOurBack("editConfig", vmid, { cores: seen });
    await looker.look();
    if ((await looker.told()).some((each) => each.vmid === vmid)) found.push("a moment of a change is told");
  }
  return found;
}
