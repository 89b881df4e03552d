import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { ServerWorld } from "@kule/api/testing/server-world";

type Owner = { readonly id: string; readonly owner: ApiCaller };
type Ended = {
  readonly kind: string;
  readonly status: string;
  readonly power: string | null;
  /** Seconds since the first end of all, by Postgres' clock. */
  readonly at: number;
};
type Lifetime = { readonly disk: number; readonly compute: number };

/** The end of a job and its settlement are in one transaction, and so at one moment. */
const sameMoment = 0.001;

export type Comparison = { readonly violations: string[]; readonly servers: number; readonly worst: number };

/**
 * Compares the sums of usage with the lifetimes by the jobs' ends, and the summaries of the API with both. An
 * hour from now is the end of all that is still running, so that what was not ended cannot hide in a second.
 */
export async function secondsOff(world: ServerWorld, owners: readonly Owner[]): Promise<Comparison> {
  const [{ until }] = await world.rows(
    "select extract(epoch from clock_timestamp())::float8 + 3600 as until",
  );
  const servers = await world.rows("select id, organisation_id from server");
  const violations: string[] = [];
  let worst = 0;
  for (const { id } of servers) {
    const due = lifetimeOf(await endsOf(world, id), until);
    const have = await countedOf(world, id, until);
    for (const kind of ["disk", "compute"] as const) {
      const off = have[kind] - due[kind];
      worst = Math.max(worst, Math.abs(off));
      if (Math.abs(off) > sameMoment)
        violations.push(
          `the ${kind} of ${id} is ${off.toFixed(1)} seconds off: ${have[kind].toFixed(1)} counted, lived ${due[kind].toFixed(1)}`,
        );
    }
  }
  violations.push(...(await gapsAndOverlaps(world)));
  for (const each of owners) violations.push(...(await summariesAddUp(world, each)));
  return { violations, servers: servers.length, worst: Math.round(worst * 1000) / 1000 };
}

/** How its jobs ended, in order; the only other source of what was when. */
function endsOf(world: ServerWorld, server: string): Promise<Ended[]> {
  return world.rows(
    `select kind, status, result ->> 'power_state' as power, extract(epoch from finished_at)::float8 as at
       from job where resource_id = $1 and finished_at is not null order by finished_at`,
    [server],
  );
}

/** A disk from the create to the destroy, and a run from each time it was seen on to the next time it was not. */
function lifetimeOf(ends: readonly Ended[], until: number): Lifetime {
  let disk = 0;
  let compute = 0;
  let diskSince: number | null = null;
  let runsSince: number | null = null;
  for (const { kind, status, power, at } of ends) {
    if (kind === "ServerCreate" && status === "succeeded") diskSince ??= at;
    const isGone = kind === "ServerDestroy" && status === "succeeded";
    const seen = isGone ? "off" : power;
    if (diskSince !== null && seen === "on") runsSince ??= at;
    if (seen === "off" && runsSince !== null) {
      compute += at - runsSince;
      runsSince = null;
    }
    if (isGone && diskSince !== null) {
      disk += at - diskSince;
      diskSince = null;
    }
  }
  return {
    disk: disk + (diskSince === null ? 0 : until - diskSince),
    compute: compute + (runsSince === null ? 0 : until - runsSince),
  };
}

async function countedOf(world: ServerWorld, server: string, until: number): Promise<Lifetime> {
  const [row] = await world.rows(
    `select coalesce(sum(seconds) filter (where kind = 'disk'), 0)::float8 as disk,
            coalesce(sum(seconds) filter (where kind = 'compute'), 0)::float8 as compute
       from (select kind, extract(epoch from coalesce(ended_at, to_timestamp($2)) - started_at) as seconds
               from usage_segment where resource_id = $1) each`,
    [server, until],
  );
  return row;
}

async function gapsAndOverlaps(world: ServerWorld): Promise<string[]> {
  const rows = await world.rows(
    `select one.id || ' overlaps ' || other.id as subject from usage_segment one join usage_segment other
         on one.resource_id = other.resource_id and one.kind = other.kind and one.id < other.id
        and tstzrange(one.started_at, one.ended_at) && tstzrange(other.started_at, other.ended_at)
      union all
      select s.id || ' goes on after its server was removed' from usage_segment s join server on server.id = s.resource_id
       where server.deleted_at is not null
         and coalesce(s.ended_at, 'infinity') > server.deleted_at`,
  );
  return rows.map(({ subject }) => subject as string);
}

/** The whole time in one piece, and cut in two anywhere, and by day: the same seconds, and those of the segments. */
async function summariesAddUp(world: ServerWorld, { id, owner }: Owner): Promise<string[]> {
  const [{ from, middle, to }] = await world.rows(
    `select min(started_at) - interval '1 minute' as from, clock_timestamp() as to,
            min(started_at) + (clock_timestamp() - min(started_at)) / 2 as middle
       from usage_segment where organisation_id = $1`,
    [id],
  );
  if (from === null) return [];
  const window = (since: Date, until: Date) => `from=${since.toISOString()}&to=${until.toISOString()}`;
  const whole = await sums(owner, `group_by=resource&${window(from, to)}`);
  const halves = [
    await sums(owner, `group_by=resource&${window(from, middle)}`),
    await sums(owner, `group_by=resource&${window(middle, to)}`),
  ];
  const days = await sums(owner, `group_by=day&${window(from, to)}`);
  const [counted] = await world.rows(
    `select coalesce(sum(extract(epoch from least(coalesce(ended_at, $2), $2) - started_at))
                     filter (where kind = 'disk'), 0)::float8 as disk,
            coalesce(sum(extract(epoch from least(coalesce(ended_at, $2), $2) - started_at))
                     filter (where kind = 'compute'), 0)::float8 as compute
       from usage_segment where organisation_id = $1 and started_at < $2`,
    [id, to],
  );
  const violations: string[] = [];
  for (const kind of ["disk", "compute"] as const) {
    const both = halves.reduce((total, half) => total + half[kind], 0);
    const off = Math.max(
      Math.abs(whole[kind] - counted[kind]),
      Math.abs(whole[kind] - both),
      Math.abs(whole[kind] - days[kind]),
    );
    if (off > 0.001)
      violations.push(
        `the summaries of ${id} are ${off.toFixed(3)} ${kind} seconds off: ${whole[kind]} in one piece, ${both} in two, ${days[kind]} by day, ${counted[kind]} in segments`,
      );
  }
  return violations;
}

async function sums(owner: ApiCaller, query: string): Promise<Lifetime> {
  const total = { disk: 0, compute: 0 };
  let cursor = "";
  do {
    const { status, body } = await owner.get(`/usage/summary?limit=200&${query}${cursor}`);
    if (status !== 200) throw new Error(`a summary was answered ${status}: ${JSON.stringify(body)}`);
    for (const item of body.items) {
      total.disk += item.disk_seconds;
      total.compute += item.compute_seconds;
    }
    cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
  } while (cursor !== "");
  return total;
}
