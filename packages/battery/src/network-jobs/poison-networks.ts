import { setTimeout as delay } from "node:timers/promises";
import { describeJob } from "../job-kinds/course.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { brokenInvariants, latestJob, type Subject } from "../job-kinds/scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { networkCourse } from "./network-courses.ts";
import { begunNetworks, untilEdge } from "./region-networks.ts";

const HEALTHY = 3;
const ROUNDS = { sample: 1, full: 4 };
const TIMEOUT_MILLISECONDS = 60_000;

/** What no edge can apply: in the database a subnet's router has an address of another version. */
const POISON = "fd00::1";

/**
 * A network whose state no edge can apply: its job fails with an error code, the jobs of other networks end
 * undisturbed, and once the state is corrected, a retry applies all of it.
 */
export function poisonAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return RegionScene.use(
    { leaseSeconds: 10 },
    async (scene) => {
      await untilEdge(scene);
      const violations: string[] = [];
      const course = networkCourse(testbed, "given a gateway");
      let cases = 0;
      for (let round = 0; round < ROUNDS[run.scale] && violations.length === 0; round += 1) {
        const [poisoned, ...healthy] = await begunNetworks(scene, course, 1 + HEALTHY);
        if (poisoned === undefined) throw new Error("there is no network");
        const right = await giveRouter(scene, poisoned, POISON);
        await course.cause(scene, poisoned);
        for (const subject of healthy) await course.cause(scene, subject);
        const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "1" });
        const ended = await Promise.all(
          healthy.map((subject) => scene.work(subject, course.kind, TIMEOUT_MILLISECONDS)),
        );
        for (const job of ended)
          if (job.status !== "succeeded")
            violations.push(`behind a network that no edge can hold, another's job ${describeJob(job)}`);
        violations.push(...(await givenUp(scene, poisoned)));
        await giveRouter(scene, poisoned, right);
        if (violations.length === 0) {
          const failed = await latestJob(scene, poisoned, course.kind);
          const answer = await poisoned.api.post(`/jobs/${failed?.id}/retry`);
          if (answer.status !== 202)
            violations.push(
              `a network that was put right is answered ${answer.status} when it is tried again`,
            );
          await scene.work(poisoned, course.kind);
          for (const subject of [poisoned, ...healthy])
            violations.push(...(await course.violations(scene, subject)));
        }
        await agent.end();
        violations.push(...(await brokenInvariants(scene)));
        cases += 1;
        run.progress(`${cases} poisonous networks, ${violations.length} violations`);
      }
      return { cases, violations, figures: { "networks that no edge can hold": cases } };
    },
    testbed,
  );
}

/** The address it had before. */
async function giveRouter(scene: RegionScene, { network }: Subject, address: string): Promise<string> {
  const { rows } = await scene.owner.query<{ was: string }>(
    `with before as (select id, host(gateway_ip) as was from subnet where network_id = $1)
     update subnet s set gateway_ip = $2::inet from before where s.id = before.id returning before.was`,
    [network, address],
  );
  return rows[0]?.was ?? "";
}

/** Ends backoffs until the job is no longer tried; then it names the reason. */
async function givenUp(scene: RegionScene, subject: Subject): Promise<string[]> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  for (;;) {
    const job = await latestJob(scene, subject, "NetworkApply");
    if (job === null) return ["a network that no edge can hold has no job"];
    if (job.finished_at !== null) {
      const { body } = await subject.api.get(`/networks/${subject.network}`);
      if (job.status !== "failed" || job.error === null)
        return [`the job of a network that no edge can hold ${describeJob(job)}`];
      if (body.status_reason?.code !== "apply_failed" || body.status_reason.job_id !== job.id)
        return [
          `a network that no edge can hold is ${body.status} for ${JSON.stringify(body.status_reason)}`,
        ];
      return [];
    }
    if (performance.now() > deadline) return [`a network that no edge can hold: its job ${describeJob(job)}`];
    await scene.owner.query(
      "update job set run_at = clock_timestamp() where status = 'queued' and run_at > clock_timestamp()",
    );
    await scene.owner.query("select pg_notify('kule_region', $1)", [scene.region]);
    await delay(200);
  }
}
