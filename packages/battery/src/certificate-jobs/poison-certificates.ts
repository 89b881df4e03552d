import { describeJob } from "../job-kinds/course.ts";
import type { RegionScene } from "../job-kinds/region-scene.ts";
import { brokenInvariants, type JobEndRow, type Subject } from "../job-kinds/scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { accepted, keyViolations, namesOf, newKey, newOwners, withSilentCa } from "./key-course.ts";

const HEALTHY = 2;
const TIMEOUT_MILLISECONDS = 60_000;

/**
 * A certificate with a payload that no agent can parse: its job fails with an error code, its attempt waits for the next
 * one, the jobs of others end undisturbed, and once it is corrected the next attempt makes its key.
 */
export function poisonAtCertificates(run: RowRun): Promise<RowResult> {
  return withSilentCa({ leaseSeconds: 10 }, async (scene) => {
    const violations: string[] = [];
    const first = scene.world.startAgent();
    const [poisoned, ...healthy] = await newOwners(scene, 1 + HEALTHY);
    await first.end();
    if (poisoned === undefined) throw new Error("there is no organisation");
    await newKey.cause(scene, poisoned);
    await name(scene, poisoned, "array[null]::text[]");
    for (const subject of healthy) await newKey.cause(scene, subject);
    const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "1" });
    for (const subject of healthy) {
      const job = await scene.work(subject, newKey.kind, TIMEOUT_MILLISECONDS);
      if (job.status !== "succeeded")
        violations.push(`behind a certificate that no agent understands, another's job ${describeJob(job)}`);
    }
    const failed = await scene.work(poisoned, newKey.kind, TIMEOUT_MILLISECONDS);
    await name(scene, poisoned, `array['${namesOf(poisoned).join("','")}']`);
    violations.push(...(await givenUp(poisoned, failed)));
    if (violations.length === 0) {
      accepted(await poisoned.api.post(`/certificates/${poisoned.certificate}/renew`));
      await scene.work(poisoned, newKey.kind);
      for (const subject of [poisoned, ...healthy]) violations.push(...(await keyViolations(scene, subject)));
    }
    await agent.end();
    violations.push(...(await brokenInvariants(scene)));
    run.progress(`a poisonous certificate: ${violations.length} violations`);
    return { cases: 1, violations, figures: { "certificates that no agent understands": 1 } };
  });
}

/** Behind the API's back. */
async function name({ owner }: RegionScene, { certificate }: Subject, names: string): Promise<void> {
  await owner.query(`update certificate set domain_names = ${names} where id = $1`, [certificate]);
}

/** Its job ends, names a reason, and the certificate says so and when it is tried again. */
async function givenUp(subject: Subject, job: JobEndRow): Promise<string[]> {
  if (job.status !== "failed" || job.error === null)
    return [`the job of a certificate that no agent understands ${describeJob(job)}`];
  const { body } = await subject.api.get(`/certificates/${subject.certificate}`);
  const { next_attempt_at, last_error } = body.renewal ?? {};
  return last_error?.code === "region_failed" && next_attempt_at !== null
    ? []
    : [`a certificate that no agent understands says ${JSON.stringify(body.renewal)}`];
}
