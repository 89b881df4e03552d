import type { StepEvent } from "@kule/programs/program";
import { describeJob, type Work } from "../job-kinds/course.ts";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, type JobEndRow, latestJob, type Subject } from "../job-kinds/scene.ts";
import { shuffled } from "../races/shuffled.ts";
import type { RowResult, RowRun } from "../row.ts";
import { EDGE_FAULTS, LASTING_FAULTS, type NamedFault } from "./edge-faults.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { type FaultyRunner, useLocalEdge } from "./local-edge.ts";
import { type NetworkCourse, networkCourses } from "./network-courses.ts";

type Case<Fault extends NamedFault> = {
  readonly course: NetworkCourse;
  readonly step: string;
  readonly fault: Fault;
};

const SAMPLED_FAULTS = 8;
const SAMPLED_FAILURES = 2;
/** Courses of which a sample has steps: each is gone once to learn them. */
const SAMPLED_COURSES = 3;
/** In a sample too: their consequences are checked nowhere else. */
const LOOKS = new Set(["observe", "verify"]);

/** An edge that fails one command, or some, at each step: the job has to succeed, and all is as if nothing had been. */
export function faultsAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return useLocalEdge(testbed, async (scene, runner) => {
    const violations: string[] = [];
    const planned = await casesOf(run, scene, testbed, EDGE_FAULTS, SAMPLED_FAULTS);
    let tried = 0;
    for (const [index, { course, step, fault }] of planned.entries()) {
      const subject = await begun(scene, testbed, course);
      const { job, isMet } = await workWith(scene, runner, subject, { course, step, fault });
      if (job.attempt > 1) tried += 1;
      const found = isMet ? await course.violations(scene, subject) : ["the step was not reached"];
      if (isMet && fault.attempts !== undefined && job.attempt !== fault.attempts + 1)
        found.push(`it was tried ${job.attempt} times, and ${fault.attempts} had to fail`);
      found.push(...(await brokenInvariants(scene)));
      // Each network that stays makes every later command at the edge slower.
      if (found.length === 0) found.push(...(await givenBack(scene, testbed, subject)));
      violations.push(...found.map((text) => `a network ${course.name}, ${fault.name} at ${step}: ${text}`));
      if (index % 20 === 19) run.progress(`${index + 1} of ${planned.length} faults of an edge`);
    }
    return {
      cases: planned.length,
      violations: [...new Set(violations)],
      figures: { "faults of an edge": planned.length, "of them taken up in another attempt": tried },
    };
  });
}

/**
 * An edge that fails until the job does: the job names the step and the reason, a retry on the repaired edge
 * applies what was wanted, and a network that is deleted instead releases everything.
 */
export function failuresAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return useLocalEdge(testbed, async (scene, runner) => {
    const violations: string[] = [];
    const planned = await casesOf(run, scene, testbed, LASTING_FAULTS, SAMPLED_FAILURES);
    for (const [index, { course, step, fault }] of planned.entries()) {
      const subject = await begun(scene, testbed, course);
      const { job, isMet } = await workWith(scene, runner, subject, { course, step, fault });
      const found = isMet
        ? await failedViolations(subject, job, step, fault.code)
        : ["the step was not reached"];
      found.push(...(await brokenInvariants(scene)));
      if (found.length === 0 && index % 2 === 0)
        found.push(...(await triedAgain(scene, subject, job, course)));
      if (found.length === 0) found.push(...(await givenBack(scene, testbed, subject)));
      violations.push(...found.map((text) => `a network ${course.name}, ${fault.name} at ${step}: ${text}`));
      if (index % 10 === 9) run.progress(`${index + 1} of ${planned.length} failures of an edge`);
    }
    return {
      cases: planned.length,
      violations: [...new Set(violations)],
      figures: { "failures of an edge": planned.length },
    };
  });
}

/** A subject whose job will have the same steps as any other's of the course. */
async function begun(scene: LocalScene, testbed: EdgeTestbed, course: NetworkCourse): Promise<Subject> {
  const work: Work = (subject, kind) => scene.work(subject, kind);
  const subject = await course.begin(scene, work);
  await testbed.removeIdleBridges();
  return subject;
}

/**
 * Every fault at every step of every course; a sample has some of all steps at random, and both observations.
 */
async function casesOf<Fault extends NamedFault>(
  run: RowRun,
  scene: LocalScene,
  testbed: EdgeTestbed,
  faults: readonly Fault[],
  sampled: number,
): Promise<readonly Case<Fault>[]> {
  const all: Case<Fault>[] = [];
  const courses = networkCourses(testbed);
  for (const course of run.scale === "full"
    ? courses
    : shuffled(courses, run.random).slice(0, SAMPLED_COURSES)) {
    const subject = await begun(scene, testbed, course);
    await course.cause(scene, subject);
    const steps = new Set<string>();
    const onEvent = ({ name }: StepEvent) => void (name === "plan" || steps.add(name));
    const job = await scene.work(subject, course.kind, { onEvent });
    if (job.status !== "succeeded") throw new Error(`a network ${course.name}: the job ${describeJob(job)}`);
    for (const step of steps) for (const fault of faults) all.push({ course, step, fault });
  }
  if (run.scale === "full") return all;
  const byFault = [...Map.groupBy(all, ({ fault }) => fault.name).values()];
  const looks = byFault.flatMap((group) => group.filter(({ step }) => LOOKS.has(step)).slice(0, 1));
  return [...looks, ...shuffled(all, run.random).slice(0, sampled)];
}

async function workWith(
  scene: LocalScene,
  runner: FaultyRunner,
  subject: Subject,
  { course, step, fault }: Case<NamedFault>,
): Promise<{ job: JobEndRow; isMet: boolean }> {
  await course.cause(scene, subject);
  let isMet = false;
  let attempts = 0;
  const onEvent = ({ name, status }: StepEvent) => {
    // Each attempt begins with an observation, and has one of this name only.
    if (name === "observe" && status === "running") attempts += 1;
    if (fault.attempts !== undefined && attempts > fault.attempts) runner.clear();
    if (isMet || name !== step || status !== "running") return;
    isMet = true;
    runner.meet({ ...fault, at: LOOKS.has(step) ? "looks" : "changes" });
  };
  const job = await scene.work(subject, course.kind, { onEvent });
  runner.clear();
  return { job, isMet };
}

async function failedViolations(
  { api, network }: Subject,
  job: JobEndRow,
  step: string,
  code: string,
): Promise<string[]> {
  if (job.status !== "failed") return [`the job ${describeJob(job)}, not failed`];
  const found: string[] = [];
  // A new attempt observes first: an observation that fails permanently is named as the first one of the last
  // attempt.
  const named = step === "verify" ? "observe" : step;
  if (job.error?.step !== named) found.push(`the job names ${job.error?.step} as the step that failed`);
  if (job.error?.code !== code) found.push(`the job's error is ${job.error?.code}, not ${code}`);
  if (job.attempt !== job.max_attempts) found.push(`it was tried ${job.attempt} times`);
  const { body } = await api.get(`/networks/${network}`);
  if (body.status_reason?.code !== "apply_failed" || body.status_reason.job_id !== job.id)
    found.push(`the network is ${body.status} for ${JSON.stringify(body.status_reason)}`);
  return found;
}

async function triedAgain(
  scene: LocalScene,
  subject: Subject,
  job: JobEndRow,
  course: NetworkCourse,
): Promise<string[]> {
  const answer = await subject.api.post(`/jobs/${job.id}/retry`);
  if (answer.status !== 202)
    return [`trying it again is answered ${answer.status} ${JSON.stringify(answer.body)}`];
  await scene.work(subject, course.kind);
  return [...(await course.violations(scene, subject)), ...(await brokenInvariants(scene))];
}

/** Deletes the network with all that is in it, as its owner would, and answers what is left. */
async function givenBack(scene: LocalScene, testbed: EdgeTestbed, subject: Subject): Promise<string[]> {
  const { api, network } = subject;
  const gone = async (path: string) => {
    const { status, body } = await api.delete(path);
    if (status !== 202 && status !== 204 && status !== 404)
      return [`DELETE ${path.split("/")[1]} is answered ${status} ${JSON.stringify(body)}`];
    if (status === 202) await scene.work(subject, "NetworkApply");
    return [];
  };
  const found: string[] = [];
  for (const { id } of (await api.get("/gateways")).body.items)
    found.push(...(await gone(`/gateways/${id}`)));
  for (const { id } of (await api.get(`/networks/${network}/subnets`)).body.items ?? [])
    found.push(...(await gone(`/networks/${network}/subnets/${id}`)));
  found.push(...(await gone(`/networks/${network}`)));
  const job = await latestJob(scene, subject, "NetworkApply");
  if (job?.status !== "succeeded")
    found.push(`its last job ${job === null ? "is missing" : describeJob(job)}`);
  const { rows } = await scene.owner.query<{ what: string }>(
    `select 'network ' || id || ' is still there' as what from network where id = $1
     union all select 'subnet ' || id || ' is still there' from subnet where network_id = $1
     union all select 'gateway ' || id || ' is still there' from gateway where network_id = $1
     union all select 'VLAN ' || v.vlan || ' is still taken' from region_vlan v
                where v.subnet_id is not null and v.subnet_id not in (select id from subnet)`,
    [network],
  );
  if ((await testbed.edge.networks()).includes(network)) found.push("its namespace is still there");
  return [...found, ...rows.map(({ what }) => what), ...(await brokenInvariants(scene))];
}
