import type { ServerJobKind } from "@kule/contract/schemas";
import type { StepEvent } from "@kule/programs/program";
import { describeJob, subjectFor, type Work } from "./course.ts";
import { cause, type Detour, onDetour } from "./detours.ts";
import type { LocalScene } from "./local-scene.ts";
import { SCENARIOS } from "./scenarios.ts";
import { latestJob, type Subject, vmidOf } from "./scene.ts";

/** A way in which a step fails permanently. */
export type Failure = {
  readonly name: string;
  /** Only a step that starts a task in the region can fail like this. */
  readonly needsTask: boolean;
  /** Tried as often as a job may be, or failed at once. */
  readonly isRetried: boolean;
  /** The job's error, by the step that fails. */
  code(step: string): string;
  install(scene: LocalScene, step: string): void;
};

/** Observations are reads; every other step changes something. */
const isLook = (step: string) => step === "observe" || step === "verify";

/** From now on the region answers every call of the step like this. */
function answerWith(scene: LocalScene, step: string, status: number): void {
  for (const method of isLook(step) ? ["GET"] : ["POST", "PUT", "DELETE"])
    scene.lab.lab.faults.add({ method, action: "status-before", status, count: 0 });
}

export const FAILURES: readonly Failure[] = [
  {
    name: "500 until attempts are used up",
    needsTask: false,
    isRetried: true,
    code: () => "hypervisor_unavailable",
    install: (scene, step) => answerWith(scene, step, 500),
  },
  {
    name: "403",
    needsTask: false,
    isRetried: false,
    // Disks that are left are an operator's task, and the job names them.
    code: (step) => (step === "free-volumes" ? "volumes_left" : "hypervisor_forbidden"),
    install: (scene, step) => answerWith(scene, step, 403),
  },
  {
    name: "a task that fails",
    needsTask: true,
    isRetried: false,
    code: () => "hypervisor_refused",
    install: ({ lab }) => lab.lab.faults.tasks.add({ action: "error", count: 1_000 }),
  },
];

export type KnownStep = { readonly name: string; readonly hasTask: boolean };

/** The steps of a healthy job of the kind on this way, in their order, learnt from the job itself. */
export async function stepsOf(
  scene: LocalScene,
  kind: ServerJobKind,
  detour: Detour,
  work: Work,
): Promise<KnownStep[]> {
  const subject = await subjectFor(scene, kind, work);
  await cause(scene, subject, kind, detour);
  const steps = new Map<string, boolean>();
  const interfere = onDetour(scene, detour, await vmidOf(scene, subject));
  const job = await scene.work(subject, kind, {
    isPrivileged: detour.isPrivileged,
    onEvent: async (event) => {
      if (event.name !== "plan")
        steps.set(event.name, (steps.get(event.name) ?? false) || event.externalRef !== null);
      await interfere(event);
    },
  });
  if (job.status !== "succeeded") throw new Error(`${kind} ${detour.name} ${describeJob(job)}`);
  return [...steps].map(([name, hasTask]) => ({ name, hasTask }));
}

export type FailingCase = {
  readonly kind: ServerJobKind;
  readonly detour: Detour;
  readonly step: string;
  readonly failure: Failure;
};

/** Lets one step of a subject's job fail permanently, and returns what is wrong afterwards. */
export async function failingCase(
  scene: LocalScene,
  subject: Subject,
  { kind, detour, step, failure }: FailingCase,
): Promise<string[]> {
  await cause(scene, subject, kind, detour);
  const interfere = onDetour(scene, detour, await vmidOf(scene, subject));
  let isInstalled = false;
  const onEvent = async (event: StepEvent) => {
    await interfere(event);
    if (isInstalled || event.name !== step || event.status !== "running") return;
    isInstalled = true;
    failure.install(scene, step);
  };
  await scene.work(subject, kind, { onEvent, isPrivileged: detour.isPrivileged });
  if (!isInstalled) return ["the step was not reached"];
  return (await jobViolations(scene, subject, { kind, detour, step, failure })).concat(
    await stateViolations(subject, kind, step),
  );
}

async function jobViolations(
  scene: LocalScene,
  subject: Subject,
  { kind, detour, step, failure }: FailingCase,
): Promise<string[]> {
  const job = await latestJob(scene, subject, kind);
  if (job?.status !== "failed") return [job === null ? "no job" : `the job ${describeJob(job)}, not failed`];
  const found: string[] = [];
  // A new attempt observes first: an observation that fails permanently is named as the first one of the last
  // attempt.
  const repeated =
    step === "verify" ? "observe" : (detour.repeatsFirst ?? SCENARIOS[kind].failed.repeatsFirst)?.[step];
  const named = failure.isRetried ? (repeated ?? step) : step;
  if (job.error?.step !== named) found.push(`the job names ${job.error?.step} as the step that failed`);
  if (job.error?.code !== failure.code(step))
    found.push(`the job's error is ${job.error?.code}, not ${failure.code(step)}`);
  const attempts = failure.isRetried ? job.max_attempts : 1;
  if (job.attempt !== attempts) found.push(`it was tried ${job.attempt} times, not ${attempts}`);
  return found;
}

/** The server is in the state for this failure, with the reason. */
async function stateViolations(subject: Subject, kind: ServerJobKind, step: string): Promise<string[]> {
  const { failed } = SCENARIOS[kind];
  const { reason } = failed;
  const status = failed.statusAt?.[step] ?? failed.status;
  const { body } = await subject.api.get(`/servers/${subject.server}`);
  const found: string[] = [];
  if (body.status !== status) found.push(`the server is ${body.status}, not ${status}`);
  if (body.status_reason?.code !== reason)
    found.push(`the server's reason is ${JSON.stringify(body.status_reason)}, not ${reason}`);
  return found;
}
