import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { describeJob } from "./course.ts";
import type { RegionScene } from "./region-scene.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type JobEndRow, newSubject, type Subject } from "./scene.ts";

const TIMEOUT_MILLISECONDS = 25_000;

/** A job that cannot be done, and how it has to be seen to end, or to wait. */
export type Poison = {
  readonly name: string;
  /** Puts it into the queue while no agent works, and answers its id. */
  insert(scene: RegionScene): Promise<string>;
  readonly ends: {
    readonly status: "failed" | "cancelled" | "queued";
    readonly attempt: number;
    readonly code: string | null;
  };
};

async function queuedCreate(scene: RegionScene): Promise<Subject> {
  const subject = await newSubject(scene);
  await SCENARIOS.ServerCreate.cause(scene, subject);
  return subject;
}

/** The only open job of a subject. */
async function openJob(scene: RegionScene, { server }: Subject): Promise<string> {
  const { rows } = await scene.owner.query<{ id: string }>(
    "select id from job where resource_id = $1 and status = 'queued'",
    [server],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`${server} has no job that waits`);
  return row.id;
}

export const POISONS: readonly Poison[] = [
  {
    name: "a payload that cannot be rendered",
    async insert(scene) {
      const subject = await queuedCreate(scene);
      await scene.owner.query("update server set image = 'forgotten-1' where id = $1", [subject.server]);
      return openJob(scene, subject);
    },
    ends: { status: "failed", attempt: 8, code: "internal" },
  },
  {
    name: "a payload that the agent cannot parse",
    async insert(scene) {
      const subject = await queuedCreate(scene);
      await scene.owner.query("update server set ssh_public_keys = array[null]::text[] where id = $1", [
        subject.server,
      ]);
      return openJob(scene, subject);
    },
    ends: { status: "failed", attempt: 1, code: "payload_not_understood" },
  },
  {
    name: "a kind that nobody knows",
    async insert(scene) {
      const id = `job_${randomUUID().replaceAll("-", "").slice(0, 26)}`;
      const { rowCount } = await scene.owner.query(
        `insert into job (id, organisation_id, region, kind, resource_type, resource_id, requested_by, request_id, run_at)
         select $1, s.organisation_id, s.region, 'ClusterApply', 'server', s.id,
                '{"type":"system","id":null,"name":"test"}', 'req_1', clock_timestamp() - interval '1 hour'
           from server s where s.status = 'running'
            and not exists (select 1 from job j where j.resource_id = s.id and j.status in ('queued', 'running'))
          order by s.id limit 1`,
        [id],
      );
      if (rowCount !== 1) throw new Error("no server runs, so that there is none to have this job");
      await scene.owner.query("select kule_queue_add($1)", [id]);
      return id;
    },
    ends: { status: "queued", attempt: 0, code: null },
  },
  {
    name: "a network's job, when no agent has an edge any more",
    async insert(scene) {
      // Agents had an edge until just now, and the job has waited for one of them to return with it.
      await scene.owner.query("update region set has_edge = true where slug = $1", [scene.region]);
      const { api, name } = await newSubject(scene);
      const made = await api.post("/networks", { name, region: scene.region });
      if (made.status !== 202) throw new Error(`${made.status} ${JSON.stringify(made.body)}`);
      const { rows } = await scene.owner.query<{ id: string }>(
        `update job set run_at = clock_timestamp() - interval '2 minutes'
          where resource_id = $1 and kind = 'NetworkApply' returning id`,
        [made.body.network.id],
      );
      return rows[0]?.id ?? "";
    },
    ends: { status: "cancelled", attempt: 0, code: "edge_missing" },
  },
  {
    name: "a job whose attempts are used up",
    async insert(scene) {
      const id = await openJob(scene, await queuedCreate(scene));
      await scene.owner.query(
        `update job set status = 'running', epoch = max_attempts, attempt = max_attempts, started_at = clock_timestamp(),
                        lease_until = clock_timestamp() - interval '1 second', claim_id = $2 where id = $1`,
        [id, randomUUID()],
      );
      return id;
    },
    ends: { status: "failed", attempt: 8, code: "lease_expired" },
  },
];

export async function jobRow(scene: RegionScene, id: string): Promise<JobEndRow> {
  const { rows } = await scene.owner.query<JobEndRow>(
    `select id, status, attempt, max_attempts, epoch, error, internal_error, finished_at from job where id = $1`,
    [id],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no job ${id}`);
  return row;
}

/**
 * Skips backoffs and the reaper's minute until the job is as it must be, and returns what is wrong with it.
 */
export async function poisonViolations(scene: RegionScene, poison: Poison, id: string): Promise<string[]> {
  const { status, attempt, code } = poison.ends;
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  let job = await jobRow(scene, id);
  // A job that must wait is unchanged by now, or it is not.
  while (status !== "queued" && job.status !== status && performance.now() < deadline) {
    await scene.owner.query(
      "update job set run_at = clock_timestamp() where status = 'queued' and run_at > clock_timestamp()",
    );
    await scene.owner.query("select pg_notify('kule_region', $1)", [scene.region]);
    await scene.owner.query("select graphile_worker.add_job('reap_leases', job_key => 'reap now')");
    await delay(200);
    job = await jobRow(scene, id);
  }
  if (job.status !== status || job.attempt !== attempt || (job.error?.code ?? null) !== code)
    return [
      `${poison.name}: the job ${describeJob(job)}, and not ${status} in attempt ${attempt} with ${code}`,
    ];
  return visibleViolations(scene, poison, job);
}

/** An operator finds it in the list of its organisation's jobs, as it is. */
async function visibleViolations(scene: RegionScene, poison: Poison, job: JobEndRow): Promise<string[]> {
  const { rows } = await scene.owner.query<{ organisation_id: string }>(
    "select organisation_id from job where id = $1",
    [job.id],
  );
  const operator = scene.operator.with({ "Kule-Organisation": rows[0]?.organisation_id ?? "" });
  const { body } = await operator.get("/jobs?limit=200");
  const shown = (body.items as { id: string; status: string; error: { code: string } | null }[]).find(
    ({ id }) => id === job.id,
  );
  if (shown?.status !== job.status || (shown.error?.code ?? null) !== (job.error?.code ?? null))
    return [`${poison.name}: it is shown as ${JSON.stringify(shown ?? null)}`];
  return [];
}
