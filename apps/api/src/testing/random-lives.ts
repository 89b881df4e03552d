import { packages } from "@kule/rules/catalog/packages";
import fc from "fast-check";

/** Times are microseconds, as Postgres counts them, from the beginning of a day. */
export type LifeEvent = { readonly at: bigint; readonly kind: string; readonly package: string };
export type Life = {
  readonly id: string;
  readonly team: string | null;
  readonly events: readonly LifeEvent[];
};

export const dayMicros = 86_400_000_000n;

/** A move is tried in the random order; one that the server's state does not allow is left out. */
const moves = ["stop", "start", "resize", "bury", "cancel", "purge"] as const;

const gap = fc.oneof(
  fc.constant(1n),
  fc.constant(0n),
  fc.bigInt({ min: 2n, max: 5_000_000n }),
  fc.bigInt({ min: 5_000_000n, max: 2n * dayMicros }),
  // Until the next midnight exactly, which belongs to the day that begins.
  fc.constant("midnight" as const),
);
const step = fc.record({ gap, move: fc.constantFrom(...moves), size: fc.constantFrom(...packages) });

/**
 * Random histories of servers as the events that record them: created, stopped, started, resized, deleted,
 * kept, purged.
 */
export const randomLives: fc.Arbitrary<readonly Life[]> = fc
  .array(
    fc.record({
      begins: fc.bigInt({ min: 0n, max: 3n * dayMicros }),
      size: fc.constantFrom(...packages),
      runs: fc.boolean(),
      team: fc.constantFrom(null, "", "a", "b"),
      steps: fc.array(step, { maxLength: 14 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((drawn) => drawn.map((each, index) => live(`srv_${index}`, each)));

type Drawn = {
  readonly begins: bigint;
  readonly size: { readonly slug: string };
  readonly runs: boolean;
  readonly team: string | null;
  readonly steps: readonly {
    gap: bigint | "midnight";
    move: (typeof moves)[number];
    size: { readonly slug: string };
  }[];
};

function live(id: string, { begins, size, runs, team, steps }: Drawn): Life {
  const events: LifeEvent[] = [];
  let at = begins;
  let now = size.slug;
  let runsNow = runs;
  let isDeletedForever = false;
  const note = (kind: string) => events.push({ at, kind, package: now });
  note("disk.allocated");
  if (runs) note("server.started");
  for (const each of steps) {
    at = each.gap === "midnight" ? (at / dayMicros + 1n) * dayMicros : at + each.gap;
    if (each.move === "stop" && runsNow) {
      runsNow = false;
      note("server.stopped");
    } else if (each.move === "start" && !runsNow && !isDeletedForever) {
      runsNow = true;
      note("server.started");
    } else if (each.move === "resize" && !isDeletedForever) {
      now = each.size.slug;
      note("server.resized");
    } else if (each.move === "bury" && !isDeletedForever) {
      isDeletedForever = true;
      note("server.purge_scheduled");
    } else if (each.move === "cancel" && isDeletedForever) {
      isDeletedForever = false;
    } else if (each.move === "purge" && isDeletedForever) {
      if (runsNow) note("server.stopped");
      note("disk.released");
      note("server.purged");
      break;
    }
  }
  return { id, team, events };
}

export type Used = { readonly [measure: string]: number };

/**
 * What a server used between two times, computed independently: moment by moment from the events alone,
 * without segments.
 */
export function usedBetween({ events }: Life, from: bigint, to: bigint, of?: string): Used {
  const total = { compute: 0n, vcpu: 0n, memory: 0n, disk: 0n, gigabytes: 0n };
  let runs = false;
  let hasDisk = false;
  for (const [index, event] of events.entries()) {
    if (event.kind === "server.started") runs = true;
    if (event.kind === "server.stopped") runs = false;
    if (event.kind === "disk.allocated") hasDisk = true;
    if (event.kind === "disk.released") hasDisk = false;
    const since = event.at > from ? event.at : from;
    const next = events[index + 1]?.at ?? to;
    const until = next < to ? next : to;
    const size = packages.find(({ slug }) => slug === event.package);
    if (until <= since || size === undefined || (of !== undefined && of !== event.package)) continue;
    const micros = until - since;
    if (runs) {
      total.compute += micros;
      total.vcpu += micros * BigInt(size.vcpu);
      total.memory += micros * BigInt(size.memoryMb);
    }
    if (hasDisk) {
      total.disk += micros;
      total.gigabytes += micros * BigInt(size.diskGb);
    }
  }
  const seconds = (micros: bigint) => Number(micros) / 1e6;
  return {
    compute_seconds: seconds(total.compute),
    vcpu_seconds: seconds(total.vcpu),
    memory_mb_seconds: seconds(total.memory),
    disk_seconds: seconds(total.disk),
    disk_gb_seconds: seconds(total.gigabytes),
  };
}

/** One and the others. */
export function sumUsed(all: readonly Used[]): Used {
  const sum: Record<string, number> = {};
  for (const used of all)
    for (const [measure, seconds] of Object.entries(used)) sum[measure] = (sum[measure] ?? 0) + seconds;
  return sum;
}
