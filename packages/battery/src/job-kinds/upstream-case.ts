import type { ServerJobKind } from "@kule/contract/schemas";
import { run as runInLab } from "@kule/lab/api-client";
import type { StepEvent } from "@kule/programs/program";
import { describeJob, endViolations } from "./course.ts";
import type { LocalScene } from "./local-scene.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type JobEndRow, type Subject, serverStatus, vmidOf } from "./scene.ts";
import type { UpstreamFault } from "./upstream-faults.ts";

/**
 * Counted after the attempt that a fault begins in: a lasting fault ends with the first observation of this
 * attempt.
 */
const ENDS_AFTER_ATTEMPTS = 2;

export type UpstreamCase = {
  readonly kind: ServerJobKind;
  readonly step: string;
  readonly fault: UpstreamFault;
};
export type UpstreamResult = {
  readonly violations: readonly string[];
  readonly end: "succeeded" | "failed" | "open";
  readonly attempts: number;
};

/** One job that meets one fault at one of its steps, to its end. */
export async function upstreamCase(
  scene: LocalScene,
  subject: Subject,
  { kind, step, fault }: UpstreamCase,
): Promise<UpstreamResult> {
  await SCENARIOS[kind].cause(scene, subject);
  const vmid = await vmidOf(scene, subject);
  let attemptsSince = 0;
  let hasBegun = false;
  const onEvent = ({ name, status }: StepEvent) => {
    if (status !== "running") return;
    // On a slow machine there may have been attempts before the one that reaches the step.
    if (name === "observe" && hasBegun) {
      attemptsSince += 1;
      if (attemptsSince === ENDS_AFTER_ATTEMPTS) fault.end?.(scene);
    }
    if (name !== step || hasBegun) return;
    hasBegun = true;
    fault.begin(scene, step, vmid);
  };
  const job = await scene.work(subject, kind, { onEvent });
  fault.end?.(scene);
  const end = job.status === "succeeded" || job.status === "failed" ? job.status : "open";
  const attempts = job.attempt;
  const violations = hasBegun ? endOfJob(job, fault) : ["the step was not reached"];
  if (end === "failed" && violations.length === 0) {
    fault.repair?.(scene);
    violations.push(...(await retriedOrRepeated(scene, subject, kind, job)));
  }
  await removeHalfMade(scene, subject);
  if (violations.length === 0) violations.push(...(await endViolations(scene, subject, kind)));
  return { violations, end, attempts };
}

function endOfJob(job: JobEndRow, { mayFailWith = [] }: UpstreamFault): string[] {
  if (job.status === "succeeded") return [];
  if (job.status !== "failed") return [`the job ${describeJob(job)} and does not end`];
  if (!mayFailWith.includes(job.error?.code ?? "")) return [`the job ${describeJob(job)}`];
  return job.error?.step === null ? ["the job does not say at which step it failed"] : [];
}

/**
 * A job that failed for a temporary reason has to succeed when its owner continues: by a retry or, where that
 * is refused on purpose, by requesting the same again.
 */
async function retriedOrRepeated(
  scene: LocalScene,
  subject: Subject,
  kind: ServerJobKind,
  failed: JobEndRow,
): Promise<string[]> {
  const again = SCENARIOS[kind].requestedAgain?.[await serverStatus(scene, subject)];
  const answer = await subject.api.post(`/jobs/${failed.id}/retry`);
  const expected = again === undefined ? 202 : 409;
  if (answer.status !== expected)
    return [
      `the job ${describeJob(failed)}, and trying it again is answered ${answer.status}, not ${expected}: ${JSON.stringify(answer.body)}`,
    ];
  // A round of its rules that has followed, and waits like the job did, is superseded.
  await again?.(scene, subject);
  await scene.work(subject, kind);
  return [];
}

/** A VM number in quarantine waits for an operator, who removes the VM. */
async function removeHalfMade(scene: LocalScene, { server }: Subject): Promise<void> {
  const { rows } = await scene.owner.query<{ vmid: number }>(
    "select vmid from region_vmid where server_id = $1 and state = 'quarantined'",
    [server],
  );
  const { lab } = scene.lab;
  for (const { vmid } of rows) {
    if (lab.control.vm(vmid) !== undefined) lab.control.deleteVm(vmid);
    // What an interrupted clone had created and no VM names yet.
    for (const volume of lab.control.volumes(vmid)) {
      const path = `/nodes/pve1/storage/${volume.split(":")[0]}/content/${encodeURIComponent(volume)}`;
      const ended = await runInLab(lab, `DELETE ${path}`, { as: "operator" });
      if (ended !== "OK") throw new Error(`${volume} cannot be removed: ${ended}`);
    }
  }
}
