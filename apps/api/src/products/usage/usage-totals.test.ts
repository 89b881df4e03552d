import { findPackage } from "@kule/rules/catalog/packages";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import {
  dayMicros,
  type Life,
  randomLives,
  sumUsed,
  type Used,
  usedBetween,
} from "../../testing/random-lives.ts";
import { ServerWorld } from "../../testing/server-world.ts";

let world: ServerWorld;
let runs = 0;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

/** Twenty days ago, at midnight UTC: all random times are in the past. */
async function firstDay(): Promise<Date> {
  const [{ day }] = await world.rows("select date_trunc('day', now(), 'UTC') - interval '40 days' as day");
  return day;
}

/**
 * Writes the events as the product does: numbered and in the order of their times. After so many of them the balances are computed up
 * to a time, so that some of the rest come too late for them.
 */
async function write(
  lives: readonly Life[],
  base: Date,
  organisationId: string,
  run: string,
  balanced: readonly { readonly after: number; readonly until: Date }[],
): Promise<void> {
  const balance = async (written: number) => {
    for (const { after, until } of balanced)
      if (after === written)
        await world.owner.query("select kule_balance_usage($1, $2)", [organisationId, until]);
  };
  const events = lives
    .flatMap((life) => life.events.map((event) => ({ ...event, life })))
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
  for (const [index, { at, kind, package: slug, life }] of events.entries()) {
    await balance(index);
    const size = findPackage(slug);
    await world.owner.query(
      `insert into usage_event (id, organisation_id, seq, kind, at, region, resource_type, resource_id, resource_name,
                                package, quantity, labels)
       values ($1, $2, $3, $4, $5::timestamptz + $6::bigint * interval '1 microsecond', 'ist1', 'server', $7, 'n', $8, $9, $10)`,
      [
        `use_${run}_${index}`,
        organisationId,
        index + 1,
        kind,
        base.toISOString(),
        String(at),
        `${run}_${life.id}`,
        slug,
        JSON.stringify({ vcpu: size?.vcpu, memory_mb: size?.memoryMb, disk_gb: size?.diskGb }),
        JSON.stringify(life.team === null ? {} : { team: life.team }),
      ],
    );
  }
  await balance(events.length);
}

const balancesThatDiffer = `
  with have as (select organisation_id, label_key, label_value, region, kind, package, day, is_last, begun, ended, began_at,
                       first, first_began_at, second, second_began_at from usage_balance where organisation_id = $1),
       due as (select * from usage_balance_due where organisation_id = $1)
  (table have except table due) union all (table due except table have)`;

/** All pages of a summary. */
async function summary(owner: ApiCaller, query: string): Promise<Map<string | null, Used>> {
  const groups = new Map<string | null, Used>();
  let cursor: string | null = null;
  do {
    const page: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { status, body } = await owner.get(`/usage/summary?limit=3&${query}${page}`);
    expect(status).toBe(200);
    for (const { group, name, type, public_ip_seconds, ...used } of body.items) {
      expect(groups.has(group)).toBe(false);
      expect(public_ip_seconds).toBe(0);
      groups.set(group, used);
    }
    cursor = body.next_cursor;
  } while (cursor !== null);
  return groups;
}

function expectSame(actual: Used | undefined, expected: Used): void {
  for (const [measure, seconds] of Object.entries(expected))
    expect(Math.abs((actual?.[measure] ?? 0) - seconds), measure).toBeLessThan(1e-9 * seconds + 1e-6);
}

test("sums of usage are the lifetimes of random servers to the microsecond, however they are cut", async () => {
  const base = await firstDay();
  const iso = (at: bigint) => new Date(base.getTime() + Number(at / 1000n)).toISOString();
  await fc.assert(
    fc.asyncProperty(
      randomLives,
      fc.bigInt({ min: 0n, max: 6n * 86_400_000n }),
      fc.bigInt({ min: 0n, max: 20n * 86_400_000n }),
      // After how much of the events, and up to which hour.
      fc.array(fc.record({ percent: fc.nat(100), hour: fc.nat(12 * 24) }), {
        maxLength: 3,
      }),
      async (lives, fromMillis, moreMillis, balanced) => {
        runs += 1;
        const run = `r${runs}`;
        const { id, owner } = await world.world.addOrganisation(`lives-${runs}`);
        const events = lives.flatMap((life) => life.events).length;
        await write(
          lives,
          base,
          id,
          run,
          balanced.map(({ percent, hour }) => ({
            after: Math.round((percent / 100) * events),
            until: new Date(base.getTime() + hour * 3_600_000),
          })),
        );
        // The API's times have milliseconds; events keep their microseconds.
        const [from, to] = [fromMillis * 1000n, (fromMillis + moreMillis) * 1000n];
        const window = `from=${iso(from)}&to=${iso(to)}`;

        const byResource = await summary(owner, `group_by=resource&${window}`);
        for (const life of lives)
          expectSame(byResource.get(`${run}_${life.id}`), usedBetween(life, from, to));

        const byDay = await summary(owner, `group_by=day&${window}`);
        for (let day = from / dayMicros; day * dayMicros < to; day += 1n) {
          const [since, until] = [day * dayMicros, (day + 1n) * dayMicros];
          const used = lives.map((life) =>
            usedBetween(life, since > from ? since : from, until < to ? until : to),
          );
          expectSame(byDay.get(iso(since).slice(0, 10)), sumUsed(used));
        }

        const byPackage = await summary(owner, `group_by=package&${window}`);
        for (const slug of ["s", "m", "l", "xl", "xxl", "xxxl"])
          expectSame(byPackage.get(slug), sumUsed(lives.map((life) => usedBetween(life, from, to, slug))));

        const byTeam = await summary(owner, `group_by=label:team&${window}`);
        for (const team of [null, "", "a", "b"])
          expectSame(
            byTeam.get(team),
            sumUsed(lives.filter((life) => life.team === team).map((life) => usedBetween(life, from, to))),
          );

        // No two of a kind overlap, the next begins where the last was ended by a resize, nothing is open after a purge.
        const [{ overlaps, open }] = await world.rows(
          `select (select count(*)::integer from usage_segment one join usage_segment other
                    on one.resource_id = other.resource_id and one.kind = other.kind and one.id < other.id
                   and one.started_at < coalesce(other.ended_at, 'infinity')
                   and other.started_at < coalesce(one.ended_at, 'infinity')
                   where one.organisation_id = $1) as overlaps,
                  (select count(*)::integer from usage_segment s where s.organisation_id = $1 and s.ended_at is null
                      and exists (select 1 from usage_event e where e.resource_id = s.resource_id and e.kind = 'server.purged')) as open`,
          [id],
        );
        expect({ overlaps, open }).toEqual({ overlaps: 0, open: 0 });
        expect(await world.rows(balancesThatDiffer, [id])).toEqual([]);
      },
    ),
    { numRuns: 25 },
  );
}, 120_000);
