import type pg from "pg";

/**
 * Records every change of a job's status or epoch, in a schema of its own, by a trigger of the test's: the
 * real history of each job, independent of the product's own records.
 */
export async function recordJobHistory(owner: pg.ClientBase): Promise<void> {
  await owner.query(`
    create schema battery;
    create sequence battery.fed;
    create table battery.change (
      n bigint generated always as identity primary key,
      at timestamptz not null default clock_timestamp(),
      job_id text not null, kind text not null, resource_id text not null,
      old_status text not null, status text not null, old_epoch integer not null, epoch integer not null,
      old_lease_until timestamptz
    );
    create function battery.note_change() returns trigger language plpgsql security definer as $$
    begin
      insert into battery.change (job_id, kind, resource_id, old_status, status, old_epoch, epoch, old_lease_until)
      values (new.id, new.kind, new.resource_id, old.status, new.status, old.epoch, new.epoch, old.lease_until);
      return null;
    end $$;
    create trigger battery_change after update on job for each row
      when (old.status is distinct from new.status or old.epoch is distinct from new.epoch)
      execute function battery.note_change();`);
}

/** One change of a job, times in milliseconds. */
export type Change = {
  readonly job: string;
  readonly kind: string;
  readonly resource: string;
  readonly at: number;
  readonly from: string;
  readonly to: string;
  readonly fromEpoch: number;
  readonly epoch: number;
  readonly leaseUntil: number | null;
};

export async function readJobHistory(owner: pg.ClientBase): Promise<Change[]> {
  const { rows } = await owner.query(`
    select job_id as job, kind, resource_id as resource, (extract(epoch from at) * 1000)::float8 as at,
           old_status as "from", status as "to", old_epoch as "fromEpoch", epoch,
           (extract(epoch from old_lease_until) * 1000)::float8 as "leaseUntil"
      from battery.change order by n`);
  return rows;
}

const isTerminal = (status: string) => ["succeeded", "failed", "cancelled"].includes(status);

export type HistoryFindings = {
  readonly violations: string[];
  readonly done: number;
  /** Claims of a job whose holder had let its lease pass. */
  readonly takenOver: number;
  /** `job/epoch` of every attempt that ended, finally or back into the queue. */
  readonly attemptsEnded: ReadonlySet<string>;
};

/** One holder at a time, epochs that count every claim, and one end for each job. */
export function judgeHistory(changes: readonly Change[]): HistoryFindings {
  const violations: string[] = [];
  const ended = new Set<string>();
  const attemptsEnded = new Set<string>();
  let takenOver = 0;
  const running = new Map<string, string>();
  for (const change of changes) {
    const { job, from, to, at, epoch, fromEpoch, leaseUntil, resource } = change;
    if (ended.has(job)) violations.push(`${job} had ended and went from ${from} to ${to}`);
    if (to === "running") {
      if (epoch !== fromEpoch + 1)
        violations.push(`${job} was claimed and went from epoch ${fromEpoch} to ${epoch}`);
      if (from === "running") {
        takenOver += 1;
        if (leaseUntil === null || leaseUntil > at)
          violations.push(
            `${job} was claimed under epoch ${epoch} ${Math.round((leaseUntil ?? at) - at)} ms before the lease of epoch ${fromEpoch} ended: two holders`,
          );
      }
      const other = running.get(resource);
      if (other !== undefined && other !== job)
        violations.push(`${job} began while ${other} ran for ${resource}`);
      running.set(resource, job);
    } else {
      if (epoch !== fromEpoch)
        violations.push(`${job} went to ${to} and from epoch ${fromEpoch} to ${epoch}`);
      if (running.get(resource) === job) running.delete(resource);
    }
    if (isTerminal(to)) ended.add(job);
    if (from === "running" && to !== "running") attemptsEnded.add(`${job}/${epoch}`);
  }
  return { violations, done: ended.size, takenOver, attemptsEnded };
}
