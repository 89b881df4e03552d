import pg from "pg";
import { History } from "./history.ts";
import { type SequentialModel, sequentialViolations } from "./history-checkers.ts";

/** One change of a job's row, as Postgres saw it; "before" is null when the job was created. */
export type JobChange = {
  readonly job: string;
  readonly kind: string;
  readonly atMs: number;
  readonly before: JobFacts | null;
  readonly after: JobFacts;
};

export type JobFacts = {
  readonly status: string;
  readonly epoch: number;
  readonly seq: number;
  /** Milliseconds since the epoch, by Postgres' clock; null without a lease. */
  readonly leaseUntilMs: number | null;
  readonly claimId: string | null;
  readonly agentName: string | null;
};

const install = `
create table if not exists rig_job_change (
  n bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  before job, after job not null);
create or replace function rig_note_job_change() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into rig_job_change (before, after) values (case when tg_op = 'UPDATE' then old end, new);
  return null;
end $$;
create or replace trigger rig_job_change after insert or update on job
  for each row execute function rig_note_job_change()`;

const factsOf = (row: string) =>
  `json_build_object('status', (${row}).status, 'epoch', (${row}).epoch, 'seq', (${row}).last_seq,
     'leaseUntilMs', extract(epoch from (${row}).lease_until) * 1000, 'claimId', (${row}).claim_id,
     'agentName', (${row}).agent_name)`;

/**
 * Records every change of every job of a test's database, in a table of its own: the final state of a job
 * does not show its history. The product does not know about it.
 */
export class JobJournal {
  readonly #ownerUrl: string;

  private constructor(ownerUrl: string) {
    this.#ownerUrl = ownerUrl;
  }

  static async install(ownerUrl: string): Promise<JobJournal> {
    const journal = new JobJournal(ownerUrl);
    await journal.#query(install);
    return journal;
  }

  async changes(): Promise<JobChange[]> {
    return (await this.#query(`
      select (after).id as job, (after).kind as kind, (extract(epoch from at) * 1000)::float8 as "atMs",
             case when (before).id is not null then ${factsOf("before")} end as before, ${factsOf("after")} as after
        from rig_job_change order by n`)) as JobChange[];
  }

  async #query(text: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: this.#ownerUrl });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }
}

/** What must never happen to a job: each report counts once, each claim finds it free, an end is final. */
export function jobChangeViolations(changes: readonly JobChange[]): string[] {
  const history = new History();
  for (const change of changes)
    history.effect({ process: "postgres", operation: "job", key: change.job, value: change });
  return sequentialViolations(history.events, jobModel);
}

/** A claim that was given a second job while the first one was still held under it. */
export function claimViolations(changes: readonly JobChange[]): string[] {
  /** The held jobs, by their claims. */
  const held = new Map<string, JobChange>();
  const violations: string[] = [];
  for (const change of changes) {
    const { before, after, job, atMs } = change;
    const { claimId } = after;
    if (claimId === null) continue;
    if (after.status !== "running") {
      if (held.get(claimId)?.job === job) held.delete(claimId);
      continue;
    }
    const other = held.get(claimId);
    const isClaim = after.epoch !== before?.epoch;
    if (isClaim && other !== undefined && other.job !== job && (other.after.leaseUntilMs ?? 0) > atMs)
      violations.push(`claim ${claimId} was given ${job} while it held ${other.job}`);
    // A job that another agent has claimed is not held by its former claim any more.
    if (isClaim && before?.claimId != null && held.get(before.claimId)?.job === job)
      held.delete(before.claimId);
    if (isClaim || other?.job === job) held.set(claimId, change);
  }
  return violations;
}

const jobModel: SequentialModel<{ readonly ends: number }> = {
  initial: { ends: 0 },
  next: ({ ends }, event) => {
    const change = event.value as JobChange;
    const wrong = whyImpossible(change) ?? (ends > 0 && isEnd(change) ? "it ended twice" : null);
    if (wrong !== null) return { wrong };
    return { state: { ends: ends + (isEnd(change) ? 1 : 0) - (isRetry(change) ? 1 : 0) } };
  },
};

const ended = ["succeeded", "failed", "cancelled"];
const isOver = (facts: JobFacts | null) => facts !== null && ended.includes(facts.status);
const isEnd = ({ before, after }: JobChange) => !isOver(before) && isOver(after);
const isRetry = ({ before, after }: JobChange) => isOver(before) && after.status === "queued";

function whyImpossible(change: JobChange): string | null {
  const { before, after, atMs } = change;
  if (before === null) return after.status === "running" ? "it was made as running" : null;
  const step = `${before.status} (epoch ${before.epoch}, report ${before.seq}) → ${after.status} (epoch ${after.epoch}, report ${after.seq})`;
  if (after.epoch !== before.epoch) {
    if (after.epoch !== before.epoch + 1) return `its epoch jumped: ${step}`;
    if (after.status !== "running" || isOver(before)) return `a claim made it ${step}`;
    const held = before.status === "running" && (before.leaseUntilMs ?? 0) > atMs;
    return held ? `it was claimed while another lease had not passed: ${step}` : null;
  }
  if (isOver(before) && !isRetry(change))
    return after.status === before.status ? null : `it went on after its end: ${step}`;
  if (before.status === "queued" && after.status === "running") return `it runs without a claim: ${step}`;
  if (after.seq < before.seq) return `its reports went back: ${step}`;
  const renewed = after.leaseUntilMs !== null && after.leaseUntilMs !== before.leaseUntilMs;
  if (before.status === "running" && after.status === "running" && renewed && after.seq === before.seq)
    return `one report was recorded twice: ${step}`;
  return null;
}
