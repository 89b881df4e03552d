import { setTimeout as delay } from "node:timers/promises";
import { describeJob } from "../job-kinds/course.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { brokenInvariants, latestJob, type Subject } from "../job-kinds/scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { begunLoadBalancers } from "./killed-agents.ts";
import { givenListener } from "./load-balancer-courses.ts";

const HEALTHY = 1;
const TIMEOUT_MILLISECONDS = 60_000;

/**
 * A load balancer with a payload that no agent can parse: its job fails with an error code, the jobs of others end undisturbed,
 * and once it is corrected a retry brings all of it.
 */
export function poisonAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return RegionScene.use({ leaseSeconds: 10 }, async (scene) => {
    const violations: string[] = [];
    const [poisoned, ...healthy] = await begunLoadBalancers(scene, 1 + HEALTHY);
    if (poisoned === undefined) throw new Error("there is no load balancer");
    await givenListener.cause(scene, poisoned);
    await allow(scene, poisoned, "array[null]::text[]");
    for (const subject of healthy) await givenListener.cause(scene, subject);
    const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "1" });
    for (const subject of healthy) {
      const job = await scene.work(subject, givenListener.kind, TIMEOUT_MILLISECONDS);
      if (job.status !== "succeeded")
        violations.push(
          `behind a load balancer that no agent understands, another's job ${describeJob(job)}`,
        );
    }
    violations.push(...(await givenUp(scene, poisoned)));
    await allow(scene, poisoned, "'{}'");
    if (violations.length === 0) {
      const failed = await latestJob(scene, poisoned, givenListener.kind);
      const answer = await poisoned.api.post(`/jobs/${failed?.id}/retry`);
      if (answer.status !== 202)
        violations.push(
          `a load balancer that was corrected is answered ${answer.status} when it is tried again`,
        );
      await scene.work(poisoned, givenListener.kind);
      for (const subject of [poisoned, ...healthy])
        violations.push(...(await givenListener.violations(scene, subject)));
    }
    await agent.end();
    violations.push(...(await brokenInvariants(scene)));
    run.progress(`a poisonous load balancer: ${violations.length} violations`);
    return { cases: 1, violations, figures: { "load balancers that no agent understands": 1 } };
  });
}

/** Behind the API's back. */
async function allow(scene: RegionScene, { loadBalancer }: Subject, cidrs: string): Promise<void> {
  await scene.owner.query(`update listener set allowed_cidrs = ${cidrs} where load_balancer_id = $1`, [
    loadBalancer,
  ]);
}

/** Its job ends, names a reason, and the load balancer says so. */
async function givenUp(scene: RegionScene, subject: Subject): Promise<string[]> {
  const what = "the job of a load balancer that no agent understands";
  for (const deadline = performance.now() + TIMEOUT_MILLISECONDS; ; await delay(200)) {
    const job = await latestJob(scene, subject, givenListener.kind);
    if (job === null) return [`${what} is missing`];
    if (job.finished_at !== null) {
      if (job.status !== "failed" || job.error === null) return [`${what} ${describeJob(job)}`];
      const { rows } = await scene.owner.query<{ failure: string | null; failure_job_id: string | null }>(
        "select failure, failure_job_id from load_balancer where id = $1",
        [subject.loadBalancer],
      );
      const [row] = rows;
      return row?.failure === "apply_failed" && row.failure_job_id === job.id
        ? []
        : [`a load balancer that no agent understands has failed for ${JSON.stringify(row)}`];
    }
    if (performance.now() > deadline) return [`${what} ${describeJob(job)}`];
    await scene.owner.query(
      "update job set run_at = clock_timestamp() where status = 'queued' and run_at > clock_timestamp()",
    );
    await scene.owner.query("select pg_notify('kule_region', $1)", [scene.region]);
  }
}
