import { type DnsProvider, DnsUnavailable, type ProviderZone } from "@kule/dns/dns-provider";
import { reverseNameRange, reverseZones } from "@kule/rules/domains/reverse-name";
import { formatIp, type IpRange, parseIpBlock } from "@kule/rules/public-ips/addresses";
import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/** Addresses in one statement. */
const mostAtOnce = 1_000;

/**
 * Compares the operator's reverse zones with the reverse names that are to be served, and makes due what differs: it is put
 * right as every other name is. Each zone in which pools have addresses is read once. A record of an address that is in
 * no pool stays: Kule does not know whose it is.
 *
 * @param blocks the operator's, such as `192.0.2.0/24`
 * @returns how many names are due now that were not
 * @throws DnsUnavailable when the provider does not answer
 */
export async function comparePointers(
  db: Database,
  { provider, blocks }: { readonly provider: DnsProvider; readonly blocks: readonly string[] },
  signal?: AbortSignal,
): Promise<number> {
  let differing = 0;
  const failures: unknown[] = [];
  for (const zone of await zonesWithAddresses(db, blocks))
    try {
      differing += await compareZone(db, zone, await provider.readZone(zone.name, signal));
    } catch (error) {
      if (error instanceof DnsUnavailable || signal?.aborted) throw error;
      // One zone that cannot be read does not keep the others from being compared.
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return differing;
}

type Zone = { readonly name: string; readonly range: IpRange };

async function zonesWithAddresses(db: Database, blocks: readonly string[]): Promise<Zone[]> {
  const found = new Map<string, Zone>();
  for (const text of blocks) {
    const block = parseIpBlock(text);
    const reading = reverseZones(text);
    if (block === null || !reading.ok || !(await hasAddresses(db, block))) continue;
    for (const name of reading.zones) {
      const range = reverseNameRange(name);
      if (range !== null && (await hasAddresses(db, range))) found.set(name, { name, range });
    }
  }
  return [...found.values()];
}

async function hasAddresses(db: Database, range: IpRange): Promise<boolean> {
  const row = await db
    .selectFrom("public_address")
    .select("address")
    .where("address", ">=", firstOf(range))
    .where("address", "<=", lastOf(range))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** @param served null: the provider does not have the zone, so it has no name of it */
async function compareZone(db: Database, { range }: Zone, served: ProviderZone | null): Promise<number> {
  const present = namesIn(served);
  const pointers = await db
    .selectFrom("public_pointer")
    .select([sql<string>`host(address)`.as("address"), "wanted", "state"])
    .where("address", ">=", firstOf(range))
    .where("address", "<=", lastOf(range))
    .execute();
  // What is not served yet is due already.
  const wrong = pointers.filter(
    ({ address, wanted, state }) => state === "served" && present.get(address) !== wanted?.toLowerCase(),
  );
  const known = new Set(pointers.map(({ address }) => address));
  const stray = [...present.keys()].filter((address) => !known.has(address));
  let differing = 0;
  for (const some of portions(wrong.map(({ address }) => address))) differing += await makeDue(db, some);
  for (const some of portions(stray)) differing += await removeLater(db, some);
  return differing;
}

/** The names of the zone by their addresses; empty where an address has more than one, or one that is not a name. */
function namesIn(zone: ProviderZone | null): Map<string, string> {
  const names = new Map<string, string>();
  for (const { name, type, contents } of zone?.recordSets ?? []) {
    const range = type === "PTR" ? reverseNameRange(name.replace(/\.$/, "")) : null;
    if (range === null || range.first !== range.last) continue;
    const [content = ""] = contents;
    names.set(firstOf(range), contents.length === 1 ? content.replace(/\.$/, "") : "");
  }
  return names;
}

/** Locked in the order in which a change of a pool's pattern locks them. */
async function makeDue(db: Database, addresses: readonly string[]): Promise<number> {
  const { rows } = await sql`
    with locked as (
      select address from public_pointer where address = any (${addresses}::inet[]) and state = 'served'
       order by address for update
    )
    update public_pointer p set state = 'pending', updated_at = clock_timestamp()
      from locked where p.address = locked.address returning p.address`.execute(db);
  return rows.length;
}

/** An address of a pool that is to have no name; one that has got a name in the meantime keeps it. */
async function removeLater(db: Database, addresses: readonly string[]): Promise<number> {
  const { rows } = await sql`
    insert into public_pointer (address, wanted)
      select address, null from public_address where address = any (${addresses}::inet[]) order by address
    on conflict (address) do nothing returning address`.execute(db);
  return rows.length;
}

function* portions(addresses: readonly string[]): Generator<readonly string[]> {
  for (let from = 0; from < addresses.length; from += mostAtOnce)
    yield addresses.slice(from, from + mostAtOnce);
}

const firstOf = ({ version, first }: IpRange) => formatIp({ version, value: first });
const lastOf = ({ version, last }: IpRange) => formatIp({ version, value: last });
