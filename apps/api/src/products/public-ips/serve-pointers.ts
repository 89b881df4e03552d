import { type DnsProvider, DnsUnavailable, type RecordSetChange } from "@kule/dns/dns-provider";
import { type Pointer, reverseZoneOf } from "@kule/rules/domains/reverse-zone-of";
import { parseIp } from "@kule/rules/public-ips/addresses";
import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/** What serves reverse names. */
export type PointerService = {
  readonly provider: DnsProvider;
  /** The operator's blocks, such as `192.0.2.0/24`. */
  readonly reverseZones: readonly string[];
  /** Of the reverse zones, absolute. */
  readonly nameServers: readonly string[];
  /**
   * Which name servers do not answer for the zone with that serial yet, as texts for operators.
   *
   * @param zone without its final dot
   */
  lagging(zone: string, serial: number): Promise<readonly string[]>;
};

/** The provider has the names, and not all name servers answer them yet: try again. */
export class PointersLag extends Error {}

/** Addresses in one run; the next one continues. */
const mostAtOnce = 1_000;
const ttlSeconds = 3_600;

type Due = {
  readonly address: string;
  readonly wanted: string | null;
  readonly generation: number;
  readonly state: string;
};
type Placed = Due & Pointer;

/**
 * Brings reverse names of public addresses to the name servers: one call of the provider for each reverse zone in which
 * some differ. A zone that is not there is made. A run that breaks off, or whose answer is lost, is repeated as a whole.
 *
 * @param service null: this installation serves no reverse zone
 * @returns how many addresses are as wanted now; when `isAll` is false there are more
 * @throws DnsUnavailable when the provider does not answer; PointersLag when a name server is behind it; DnsRefused
 */
export async function servePointers(
  db: Database,
  service: PointerService | null,
  signal?: AbortSignal,
): Promise<{ readonly served: number; readonly isAll: boolean }> {
  const due = await duePointers(db, service !== null);
  const zones = new Map<string, Placed[]>();
  const elsewhere: Due[] = [];
  for (const each of due) {
    const place = service === null ? null : placeOf(each.address, service.reverseZones);
    if (place === null) elsewhere.push(each);
    else zones.set(place.zone, [...(zones.get(place.zone) ?? []), { ...each, ...place }]);
  }
  await note(db, elsewhere, "unmanaged");
  const failures: unknown[] = [];
  if (service !== null)
    for (const [zone, pointers] of zones)
      try {
        await serveZone(service, zone, pointers, signal);
        await note(db, pointers, "served");
      } catch (error) {
        if (error instanceof DnsUnavailable) throw error;
        // One zone that cannot be served must not delay the others; its error is thrown when they are done. It may have
        // more names than one run takes, so these come last from now on.
        failures.push(error);
        await putLast(db, pointers);
      }
  if (failures.length > 0) throw failures[0];
  return {
    served: due.length - elsewhere.length,
    isAll: due.filter(({ state }) => state === "pending").length < mostAtOnce,
  };
}

/** Those that nobody has looked at, and then those that had no zone here when somebody did: the blocks may be others now. */
async function duePointers(db: Database, hasService: boolean): Promise<Due[]> {
  const states = hasService ? ["pending", "unmanaged"] : ["pending"];
  return db
    .selectFrom("public_pointer")
    .select([sql<string>`host(address)`.as("address"), "wanted", "generation", "state"])
    .where("state", "in", states)
    .orderBy("state")
    .orderBy("updated_at")
    .limit(mostAtOnce)
    .execute();
}

function placeOf(address: string, blocks: readonly string[]): Pointer | null {
  const parsed = parseIp(address);
  return parsed === null ? null : reverseZoneOf(parsed, blocks);
}

/** Compares before it changes: each change raises the serial of the zone. */
async function serveZone(
  { provider, nameServers, lagging }: PointerService,
  zone: string,
  pointers: readonly Placed[],
  signal: AbortSignal | undefined,
): Promise<void> {
  let present = await provider.readZone(zone, signal);
  if (present === null) {
    if (pointers.every(({ wanted }) => wanted === null)) return;
    await provider.createZone(zone, nameServers, signal);
    present = await provider.readZone(zone, signal);
  }
  const known = new Map(
    (present?.recordSets ?? []).filter(({ type }) => type === "PTR").map((each) => [each.name, each]),
  );
  const changes = pointers.flatMap(({ name, wanted }): RecordSetChange[] => {
    const fullName = `${name}.${zone}.`;
    const found = known.get(fullName);
    if (wanted === null)
      return found === undefined ? [] : [{ change: "delete", name: fullName, type: "PTR" }];
    const contents = [`${wanted.toLowerCase()}.`];
    const isSame = found?.contents.length === 1 && found.contents[0] === contents[0];
    if (isSame) return [];
    return [{ change: "replace", recordSet: { name: fullName, type: "PTR", ttlSeconds, contents } }];
  });
  await provider.changeZone(zone, changes, signal);
  const changed = changes.length === 0 ? present : await provider.readZone(zone, signal);
  const behind = changed === null ? [`${zone} is gone`] : await lagging(zone, changed.serial);
  if (behind.length > 0) throw new PointersLag(`${zone}: ${behind.join("; ")}`);
}

async function putLast(db: Database, pointers: readonly Due[]): Promise<void> {
  await sql`
    with locked as (
      select address from public_pointer where address = any (${pointers.map(({ address }) => address)}::inet[])
       order by address for update
    )
    update public_pointer p set updated_at = clock_timestamp()
      from locked where p.address = locked.address`.execute(db);
}

/** A name that was changed in the meantime stays due; what has none any more is forgotten. */
async function note(db: Database, pointers: readonly Due[], state: "served" | "unmanaged"): Promise<void> {
  if (pointers.length === 0) return;
  const seen = sql`unnest(${pointers.map(({ address }) => address)}::inet[],
    ${pointers.map(({ generation }) => generation)}::integer[]) as seen (address, generation)`;
  // In the order in which a change of a pool's pattern locks them.
  await sql`
    with locked as (
      select p.address, p.wanted from public_pointer p join ${seen} using (address)
       where p.generation = seen.generation order by p.address for update of p
    ), forgotten as (
      delete from public_pointer p using locked where p.address = locked.address and locked.wanted is null
    )
    update public_pointer p
       set state = ${state}, served_generation = case when ${state} = 'served' then generation else served_generation end,
           updated_at = clock_timestamp()
      from locked where p.address = locked.address and locked.wanted is not null`.execute(db);
}
