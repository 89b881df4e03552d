import type { StepEvent } from "@kule/programs/program";
import { describeJob, remains, type Work } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, type JobEndRow, type Subject, vmidOf } from "../job-kinds/scene.ts";
import { shortDeadlineWorld } from "../job-kinds/short-deadline-world.ts";
import { shuffled } from "../races/shuffled.ts";
import type { RowResult, RowRun } from "../row.ts";
import { givenListener, loadBalancerViolations, statesOf } from "./load-balancer-courses.ts";

const KIND = "LoadBalancerApply";
const STEP = "put-state";
const SAMPLED_FAULTS = 2;
/** A lasting fault ends with the first look of this attempt. */
const ENDS_AT_ATTEMPT = 3;

/** What goes wrong at a machine, or on the way to it, while it gets its state. */
type MachineFault = {
  readonly name: string;
  begin(scene: LocalScene, vmid: number): void;
  /** What lasts for two attempts. */
  end?(scene: LocalScene, vmid: number): void;
};

const http = (
  name: string,
  action: "status-before" | "status-after" | "hang-before" | "garbage",
): MachineFault => ({
  name,
  begin: ({ lab }) => {
    for (const method of ["POST", "GET"]) lab.lab.faults.add({ method, action, status: 500, count: 1 });
  },
});

const FAULTS: readonly MachineFault[] = [
  http("500", "status-before"),
  http("500 after the effect", "status-after"),
  http("no answer", "hang-before"),
  http("garbage for JSON", "garbage"),
  {
    name: "a guest agent that is away for two attempts",
    begin: ({ lab }, vmid) => void lab.lab.faults.tasks.agentless.add(vmid),
    end: ({ lab }, vmid) => void lab.lab.faults.tasks.agentless.delete(vmid),
  },
  {
    name: "a disk that is full for two attempts",
    begin: ({ lab }, vmid) =>
      void lab.lab.faults.tasks.refusingAppliances.set(vmid, {
        by: "receive",
        text: "No space left on device",
      }),
    end: ({ lab }, vmid) => void lab.lab.faults.tasks.refusingAppliances.delete(vmid),
  },
];

/** A way in which a machine's state fails for good. */
type Refusal = MachineFault & { readonly code: string };

const REFUSALS: readonly Refusal[] = [
  {
    name: "a configuration that is refused",
    code: "configuration_refused",
    begin: ({ lab }, vmid) =>
      void lab.lab.faults.tasks.refusingAppliances.set(vmid, { by: "validate", text: "it is wrong" }),
    end: ({ lab }, vmid) => void lab.lab.faults.tasks.refusingAppliances.delete(vmid),
  },
  {
    name: "403",
    code: "hypervisor_forbidden",
    begin: ({ lab }) =>
      void lab.lab.faults.add({ method: "POST", action: "status-before", status: 403, count: 0 }),
    end: ({ lab }) => lab.lab.faults.clear(),
  },
];

/** A machine that fails while it gets its state: the job has to succeed, and all is as if nothing had been. */
export function faultsAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const violations: string[] = [];
    const chosen = run.scale === "full" ? FAULTS : shuffled(FAULTS, run.random).slice(0, SAMPLED_FAULTS);
    for (const fault of chosen) {
      const { subject, vmid } = await begun(scene);
      const { isMet } = await workWith(scene, subject, fault);
      fault.end?.(scene, vmid);
      scene.lab.lab.faults.clear();
      const found = isMet ? await loadBalancerViolations(scene, subject) : ["the step was not reached"];
      found.push(...(await brokenInvariants(scene)));
      violations.push(...found.map((text) => `a load balancer's machine with ${fault.name}: ${text}`));
      run.progress(`${fault.name} at a load balancer: ${violations.length} violations`);
    }
    return {
      cases: chosen.length,
      violations: [...new Set(violations)],
      figures: { "faults at load balancers' machines": chosen.length },
    };
  }, shortDeadlineWorld);
}

/**
 * A state that fails for good: the job names the step and the reason, what was in force stays, a retry brings what was wanted,
 * and a load balancer that is deleted leaves nothing.
 */
export function failuresAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const violations: string[] = [];
    const chosen = run.scale === "full" ? REFUSALS : shuffled(REFUSALS, run.random).slice(0, 1);
    for (const refusal of chosen) {
      const { subject, vmid } = await begun(scene);
      const { job, isMet } = await workWith(scene, subject, refusal);
      const found = isMet
        ? await failedViolations(scene, subject, job, refusal)
        : ["the step was not reached"];
      refusal.end?.(scene, vmid);
      found.push(...(await brokenInvariants(scene)));
      if (found.length === 0) found.push(...(await triedAgain(scene, subject, job)));
      if (found.length === 0) found.push(...(await givenBack(scene, subject)));
      violations.push(...found.map((text) => `a load balancer with ${refusal.name}: ${text}`));
    }
    return {
      cases: chosen.length,
      violations: [...new Set(violations)],
      figures: { "failures of load balancers' jobs": chosen.length },
    };
  });
}

async function begun(scene: LocalScene): Promise<{ readonly subject: Subject; readonly vmid: number }> {
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const subject = await givenListener.begin(scene, work);
  await givenListener.cause(scene, subject);
  return { subject, vmid: await vmidOf(scene, subject) };
}

async function workWith(
  scene: LocalScene,
  subject: Subject,
  fault: MachineFault,
): Promise<{ readonly job: JobEndRow; readonly isMet: boolean }> {
  const vmid = await vmidOf(scene, subject);
  let isMet = false;
  let attempts = 0;
  const onEvent = ({ name, status }: StepEvent) => {
    if (status !== "running") return;
    // Each attempt begins with one observation of this name.
    if (name === "observe") attempts += 1;
    if (attempts === ENDS_AT_ATTEMPT) fault.end?.(scene, vmid);
    if (isMet || name !== STEP) return;
    isMet = true;
    fault.begin(scene, vmid);
  };
  const job = await scene.work(subject, KIND, { onEvent });
  return { job, isMet };
}

async function failedViolations(
  scene: LocalScene,
  subject: Subject,
  job: JobEndRow,
  { code }: Refusal,
): Promise<string[]> {
  if (job.status !== "failed") return [`the job ${describeJob(job)}, not failed`];
  const found: string[] = [];
  if (job.error?.code !== code) found.push(`the job's error is ${job.error?.code}, not ${code}`);
  if (job.error?.step !== STEP) found.push(`the job names ${job.error?.step} as the step that failed`);
  if (job.attempt !== 1) found.push(`it was tried ${job.attempt} times`);
  const { body } = await subject.api.get(`/load-balancers/${subject.loadBalancer}`);
  const reason = code === "configuration_refused" ? code : "apply_failed";
  if (body.status_reason?.code !== reason || body.status_reason.job_id !== job.id)
    found.push(`it is ${body.status} for ${JSON.stringify(body.status_reason)}`);
  for (const { slot, has, wanted } of await statesOf(scene, subject))
    if (has !== wanted - 1) found.push(`machine ${slot} has generation ${has}, and had ${wanted - 1}`);
  return found;
}

async function triedAgain(scene: LocalScene, subject: Subject, job: JobEndRow): Promise<string[]> {
  const answer = await subject.api.post(`/jobs/${job.id}/retry`);
  if (answer.status !== 202)
    return [`trying it again is answered ${answer.status} ${JSON.stringify(answer.body)}`];
  await scene.work(subject, KIND);
  return [...(await loadBalancerViolations(scene, subject)), ...(await brokenInvariants(scene))];
}

async function givenBack(scene: LocalScene, subject: Subject): Promise<string[]> {
  const path = `/load-balancers/${subject.loadBalancer}`;
  const { status, body } = await subject.api.delete(path);
  if (status !== 202) return [`deleting it is answered ${status} ${JSON.stringify(body)}`];
  const job = await scene.work(subject, "ServerDestroy");
  const found = job.status === "succeeded" ? [] : [`the job of its machine ${describeJob(job)}`];
  const gone = await subject.api.get(path);
  if (gone.status !== 404) found.push(`it is still there, ${gone.body.status}`);
  return [...found, ...(await remains(scene, subject)), ...(await brokenInvariants(scene))];
}
