import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Answer } from "@kule/api/testing/api-caller";
import { readCertificateRequest } from "@kule/certificates/read-request";
import type { WorldOptions } from "@kule/testing/region-world";
import { type Course, describeJob, type Work } from "../job-kinds/course.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { type JobScene, latestJob, newSubject, type Subject } from "../job-kinds/scene.ts";

const KIND = "CertificateRequest";
/** An agent tells its key once it runs. */
const KEY_MILLISECONDS = 60_000;

/** A region makes the key of a new certificate. */
export const newKey: Course = {
  kind: KIND,
  async begin(scene) {
    await untilAgentKey(scene);
    return newSubject(scene);
  },
  async cause({ region }, subject) {
    const { api } = subject;
    const body = { name: "shop", type: "managed", region, domain_names: namesOf(subject), challenge: "http" };
    subject.certificate = accepted(await api.post("/certificates", body)).certificate.id;
  },
  violations: keyViolations,
};

export const namesOf = ({ name }: Subject): string[] => [`${name}.example`, `www.${name}.example`];

/** What is wrong after the job has succeeded: its attempt goes on with the request that was taken, for its names. */
export async function keyViolations(scene: JobScene, subject: Subject): Promise<string[]> {
  const what = `the certificate ${subject.certificate}`;
  const job = await latestJob(scene, subject, KIND);
  if (job?.status !== "succeeded")
    return [`${what}: ${job === null ? "there is no job" : `the job ${describeJob(job)}`}`];
  const { rows } = await scene.owner.query<{ state: string; csr: Buffer | null; version: number }>(
    "select state, csr, version from certificate_order where certificate_id = $1",
    [subject.certificate],
  );
  const [order] = rows;
  if (order === undefined || order.state === "requesting" || order.csr === null)
    return [`${what}: its attempt is ${order?.state ?? "gone"} after the region has made the key`];
  const asked = readCertificateRequest(order.csr)?.names ?? [];
  const wanted = namesOf(subject);
  const found: string[] = [];
  if (new Set(asked).symmetricDifference(new Set(wanted)).size > 0)
    found.push(`${what}: the request is for ${asked.join(", ")}`);
  const left = await scene.owner.query(
    "select id from job where id = $1 and result::text like '%sealed_key%'",
    [job.id],
  );
  if (left.rows.length > 0) found.push(`${what}: its job's result still holds the sealed key`);
  return found;
}

/** The requests of all attempts, with their sealed keys, which only the accepted report of a job may write. */
export async function keysOf({ owner }: JobScene): Promise<string> {
  const { rows } = await owner.query<{ row: string }>(
    `select certificate_id || ' ' || version || ' ' || coalesce(md5(csr) || ' ' || md5(sealed_key), '') as row
       from certificate_order order by certificate_id`,
  );
  return rows.map(({ row }) => row).join("\n");
}

/** A region of processes whose CA never answers, as long as the work takes: keys are made, and nothing is issued. */
export async function withSilentCa<Result>(
  options: WorldOptions,
  work: (scene: RegionScene) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "kule-silent-ca-"));
  const file = join(folder, "acme.yaml");
  writeFileSync(file, "directory: https://127.0.0.1:9/dir\nagrees_to_terms: true\nnetwork: any\n");
  const apiEnv = { KULE_ACME_FILE: file, KULE_MASTER_KEY: randomBytes(32).toString("base64") };
  try {
    return await RegionScene.use({ ...options, apiEnv }, work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Subjects whose certificate is still to be asked for. An agent runs, or has run before. */
export function newOwners(scene: RegionScene, count: number): Promise<Subject[]> {
  const work: Work = (subject, kind) => scene.work(subject, kind);
  return Promise.all(Array.from({ length: count }, () => newKey.begin(scene, work)));
}

async function untilAgentKey({ owner, region }: JobScene): Promise<void> {
  for (const deadline = performance.now() + KEY_MILLISECONDS; ; await delay(100)) {
    const { rows } = await owner.query(
      "select 1 from region where slug = $1 and agent_public_key is not null",
      [region],
    );
    if (rows.length > 0) return;
    if (performance.now() > deadline) throw new Error(`no agent of ${region} has told its key`);
  }
}

export function accepted({ status, body }: Answer): Answer["body"] {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
