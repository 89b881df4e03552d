import { describeJob } from "../job-kinds/course.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, type JobEndRow, newSubject, type Subject } from "../job-kinds/scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { accepted, keyViolations, namesOf, newKey } from "./key-course.ts";

/** The only step of the job. */
const STEP = "make-key";

/** What the region's agent can open. */
type Agent = { opens: boolean };

/** A way in which a certificate's key cannot be made. */
type Failure = {
  readonly name: string;
  readonly code: string;
  readonly isRetried: boolean;
  begin(scene: LocalScene, subject: Subject, agent: Agent): Promise<void>;
  end(scene: LocalScene, subject: Subject, agent: Agent): Promise<void>;
};

/** Behind the API's back, which lets no such name pass. */
const rename = async ({ owner }: LocalScene, { certificate }: Subject, names: readonly string[]) => {
  await owner.query("update certificate set domain_names = $2 where id = $1", [certificate, names]);
};

const FAILURES: readonly Failure[] = [
  {
    name: "a name that no certificate can have",
    code: "invalid_payload",
    isRetried: false,
    begin: (scene, subject) => rename(scene, subject, ["UPPER.example"]),
    end: (scene, subject) => rename(scene, subject, namesOf(subject)),
  },
  {
    name: "an agent of another key",
    code: "agent_key_pending",
    isRetried: true,
    begin: async (_scene, _subject, agent) => {
      agent.opens = false;
    },
    end: async (_scene, _subject, agent) => {
      agent.opens = true;
    },
  },
];

/**
 * A key that cannot be made: the job names the step and the reason, the certificate says when it is tried again, the next
 * attempt brings the key, and a certificate that is deleted leaves nothing.
 */
export function failuresAtCertificates(run: RowRun): Promise<RowResult> {
  const agent: Agent = { opens: true };
  const openSecret = (sealed: string) => {
    if (!agent.opens) throw new Error("it was sealed to another key");
    return sealed;
  };
  return LocalScene.use(
    async (scene) => {
      await scene.reportAgentKey();
      const violations: string[] = [];
      for (const failure of FAILURES) {
        const subject = await newSubject(scene);
        await newKey.cause(scene, subject);
        await failure.begin(scene, subject, agent);
        const job = await scene.work(subject, newKey.kind);
        await failure.end(scene, subject, agent);
        const found = await failedViolations(subject, job, failure);
        found.push(...(await brokenInvariants(scene)));
        if (found.length === 0) found.push(...(await triedAgain(scene, subject)));
        if (found.length === 0) found.push(...(await deleted(scene, subject)));
        violations.push(...found.map((text) => `a certificate with ${failure.name}: ${text}`));
        run.progress(`a certificate with ${failure.name}: ${violations.length} violations`);
      }
      return {
        cases: FAILURES.length,
        violations,
        figures: { "failures of certificates' jobs": FAILURES.length },
      };
    },
    ({ world }) => ({ ...world, openSecret }),
  );
}

async function failedViolations(
  { api, certificate }: Subject,
  job: JobEndRow,
  { code, isRetried }: Failure,
): Promise<string[]> {
  if (job.status !== "failed") return [`the job ${describeJob(job)}, not failed`];
  const found: string[] = [];
  if (job.error?.code !== code) found.push(`the job's error is ${job.error?.code}, not ${code}`);
  if (job.error?.step !== STEP) found.push(`the job names ${job.error?.step} as the step that failed`);
  const attempts = isRetried ? job.max_attempts : 1;
  if (job.attempt !== attempts) found.push(`it was tried ${job.attempt} times, not ${attempts}`);
  const { renewal } = accepted(await api.get(`/certificates/${certificate}`));
  if (renewal.last_error?.code !== "region_failed" || renewal.failed_attempts !== 1)
    found.push(`it says ${JSON.stringify(renewal.last_error)}`);
  if (renewal.next_attempt_at === null) found.push("it does not say when it is tried again");
  return found;
}

/** By its owner, who does not wait. */
async function triedAgain(scene: LocalScene, subject: Subject): Promise<string[]> {
  const { status, body } = await subject.api.post(`/certificates/${subject.certificate}/renew`);
  if (status !== 202) return [`trying it again is answered ${status} ${JSON.stringify(body)}`];
  await scene.work(subject, newKey.kind);
  return [...(await keyViolations(scene, subject)), ...(await brokenInvariants(scene))];
}

async function deleted(scene: LocalScene, { api, certificate }: Subject): Promise<string[]> {
  const { status, body } = await api.delete(`/certificates/${certificate}`);
  if (status !== 204) return [`deleting it is answered ${status} ${JSON.stringify(body)}`];
  const { rows } = await scene.owner.query<{ what: string }>(
    `select 'it is still there' as what from certificate where id = $1
     union all select 'its attempt is still ' || state from certificate_order where certificate_id = $1
     union all select 'version ' || version || ' is still kept' from certificate_version where certificate_id = $1
     union all select 'a domain still answers for it' from domain_challenge where certificate_id = $1
     union all select 'its job is still ' || status from job where resource_id = $1 and status in ('queued', 'running')`,
    [certificate],
  );
  return [...rows.map(({ what }) => what), ...(await brokenInvariants(scene))];
}
