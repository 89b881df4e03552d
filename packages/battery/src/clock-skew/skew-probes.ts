import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { ApiCaller } from "@kule/api/testing/api-caller";
import type { RegionScene } from "../job-kinds/region-scene.ts";
import { newSubject, type Subject } from "../job-kinds/scene.ts";

/** A region without an agent, so that only the worker can release its jobs. */
export const QUIET_REGION = "quiet";
/** The worker checks every five seconds whether something is due. */
const REAP_MILLISECONDS = 20_000;

export type Probes = { readonly cases: number; readonly violations: readonly string[] };

/** Creates the region without an agent, and returns a caller that may claim in it. */
export async function openQuietRegion(scene: RegionScene): Promise<ApiCaller> {
  const created = await scene.operator.post("/regions", {
    slug: QUIET_REGION,
    name: QUIET_REGION,
    vmid_range: { first: 40_000, last: 40_199 },
    vlan_range: { first: 3000, last: 3099 },
  });
  const minted = await scene.operator.post(`/regions/${QUIET_REGION}/agent-tokens`, { name: "nobody" });
  if (created.status !== 201 || minted.status !== 201) throw new Error(JSON.stringify([created, minted]));
  return new ApiCaller(scene.operator.app, minted.body.secret as string);
}

/** Every time limit of the control plane, checked while its clock is wrong. */
export async function probeTimes(
  scene: RegionScene,
  quiet: ApiCaller,
  leaseSeconds: number,
): Promise<Probes> {
  const subject = await newSubject(scene);
  const probes = [
    probeToken(scene, subject, 600, 200),
    probeToken(scene, subject, -1, 401),
    probeKey(scene, subject),
    probeReaper(scene, subject, quiet, leaseSeconds),
  ];
  const violations = (await Promise.all(probes)).flat();
  return { cases: probes.length, violations };
}

/** A token with this much time left by Postgres' clock. */
async function probeToken(
  scene: RegionScene,
  { api }: Subject,
  seconds: number,
  expected: number,
): Promise<string[]> {
  const minted = await api.post("/tokens", {
    name: `for ${seconds} s`,
    role: "viewer",
    expires_in_days: 1,
    reason: "of the battery",
  });
  if (minted.status !== 201) return [`POST /tokens answers ${minted.status}`];
  await scene.owner.query(
    "update token set expires_at = clock_timestamp() + make_interval(secs => $2) where id = $1",
    [minted.body.token.id, seconds],
  );
  const { status } = await new ApiCaller(scene.operator.app, minted.body.secret).get("/me");
  if (status === expected) return [];
  return [`a token with ${seconds} s to live by Postgres' clock is answered ${status}, not ${expected}`];
}

/** An Idempotency-Key is valid for a day of Postgres' clock. */
async function probeKey(scene: RegionScene, { api }: Subject): Promise<string[]> {
  const found: string[] = [];
  const key = randomUUID();
  const ask = () =>
    api.post(
      "/networks",
      { name: "probe", region: scene.region, cidr: "10.77.0.0/16" },
      { "Idempotency-Key": key },
    );
  const isReplay = (answer: Awaited<ReturnType<typeof ask>>) =>
    answer.headers.get("Idempotency-Replayed") === "true";
  const made = await ask();
  if (made.status !== 201 && made.status !== 202)
    return [`POST /networks answers ${made.status} ${JSON.stringify(made.body)}`];
  if (!isReplay(await ask())) found.push("an Idempotency-Key is forgotten at once");
  await scene.owner.query(
    "update idempotency_key set created_at = clock_timestamp() - interval '25 hours' where key = $1",
    [key],
  );
  if (isReplay(await ask())) found.push("an Idempotency-Key of 25 hours by Postgres' clock still lives");
  return found;
}

/** The lease expires without an agent that could take over: the worker releases the job. */
async function probeReaper(
  scene: RegionScene,
  { api, name }: Subject,
  quiet: ApiCaller,
  leaseSeconds: number,
): Promise<string[]> {
  const created = await api.post("/servers", {
    name,
    region: QUIET_REGION,
    image: scene.image,
    package: "s",
  });
  if (created.status !== 202)
    return [`POST /servers answers ${created.status} ${JSON.stringify(created.body)}`];
  const claimed = await quiet.post("/agent/jobs/claim", {
    claim_id: randomUUID(),
    agent_version: "0.0.0",
    capabilities: ["ServerCreate"],
    wait_seconds: 0,
  });
  const id = claimed.body?.job?.id as string | undefined;
  if (id === undefined) return [`a claim answers ${claimed.status} ${JSON.stringify(claimed.body)}`];
  const found: string[] = [];
  const statusOf = async () =>
    (await scene.owner.query<{ status: string }>("select status from job where id = $1", [id])).rows[0]
      ?.status;
  await delay(leaseSeconds * 1000 - 500);
  if ((await statusOf()) !== "running") found.push(`the lease of ${id} was ended before its time`);
  await delay(1000);
  // As at a change of the minute: the worker's next check finds the reaper due.
  await scene.owner.query(
    "delete from graphile_worker._private_known_crontabs where identifier = 'reap_leases'",
  );
  const deadline = performance.now() + REAP_MILLISECONDS;
  while ((await statusOf()) === "running" && performance.now() < deadline) await delay(100);
  if ((await statusOf()) !== "queued")
    found.push(
      `${id} is ${await statusOf()} ${REAP_MILLISECONDS / 1000} s after its lease: the reaper does not run`,
    );
  await api.post(`/jobs/${id}/cancel`);
  return found;
}
