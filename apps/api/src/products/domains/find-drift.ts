import type { Schemas } from "@kule/contract/schemas";
import type { DnsProvider, ProviderZone } from "@kule/dns/dns-provider";
import { relativeName } from "@kule/rules/domains/record-name";
import type { RecordSet } from "@kule/rules/domains/record-set";
import {
  type Difference,
  type ProviderRecordSet,
  zoneDifferences,
} from "@kule/rules/domains/zone-difference";
import { sql } from "kysely";
import { type Database, systemQuery } from "../../platform/database.ts";
import { lockOpenJobs } from "../../platform/jobs.ts";
import { actAs } from "../../platform/mutation.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { type DomainPayload, wantedZone } from "./payload.ts";
import { type DomainRow, lockDomain } from "./store.ts";

/** How many zones one run reads; the next one continues. */
const mostAtOnce = 20;
const everyMinutes = 60;

/** As many as the contract shows, and no longer texts. */
const mostDifferences = 100;
const mostValues = 100;
const longestValue = 4_200;

type Drift = NonNullable<Schemas["Domain"]["drift"]>;
type Shown = Schemas["DomainDifference"];

/**
 * Compares zones of the provider with the wanted ones, those first that were not compared the longest, and notes what
 * somebody else has changed. Nothing is put right: that is for the organisation to ask for.
 *
 * @returns how many were compared
 * @throws DnsUnavailable when the provider does not answer
 */
export async function findDrift(db: Database, provider: DnsProvider, signal?: AbortSignal): Promise<number> {
  const due = await systemQuery(db, "the worker compares the zones of all organisations")
    .selectFrom("domain")
    .select(["id", "organisation_id"])
    .where("is_verified", "=", true)
    .where("status", "=", "active")
    .where("compared_at", "<", sql<Date>`clock_timestamp() - make_interval(mins => ${everyMinutes})`)
    .orderBy("compared_at")
    .limit(mostAtOnce)
    .execute();
  for (const domain of due) await compare(db, domain, provider, signal);
  return due.length;
}

async function compare(
  db: Database,
  { id, organisation_id }: Pick<DomainRow, "id" | "organisation_id">,
  provider: DnsProvider,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wanted = await inTransaction(db, async (tx) => {
    actAs(tx, organisation_id);
    const domain = await lockDomain(tx, organisation_id, id);
    if (domain?.status !== "active") return null;
    return { generation: domain.generation, zone: await wantedZone(tx, domain) };
  });
  if (wanted === null) return;
  const found = differencesOf(wanted.zone, await provider.readZone(wanted.zone.name, signal));
  await inTransaction(db, async (tx) => {
    actAs(tx, organisation_id);
    const domain = await lockDomain(tx, organisation_id, id);
    if (domain?.status !== "active" || domain.generation !== wanted.generation) return;
    const { queued, running } = await lockOpenJobs(tx, organisation_id, id);
    // What was read may be from before or after its changes.
    if (queued !== null || running !== null) return;
    const known = domain.drift as Drift | null;
    const drift: Drift | null =
      found.length === 0
        ? null
        : {
            found_at: known?.found_at ?? new Date().toISOString(),
            differences: found.slice(0, mostDifferences),
            left_out: Math.max(0, found.length - mostDifferences),
          };
    await tx
      .updateTable("domain")
      .set({
        drift: drift === null ? null : JSON.stringify(drift),
        compared_at: sql<Date>`clock_timestamp()`,
      })
      .where("organisation_id", "=", organisation_id)
      .where("id", "=", id)
      .execute();
  });
}

function differencesOf(wanted: DomainPayload["zone"], zone: ProviderZone | null): Shown[] {
  const present = (zone?.recordSets ?? []).flatMap(
    ({ name, type, ttlSeconds, contents }): ProviderRecordSet[] => {
      const relative = relativeName(name, wanted.name);
      return relative === null ? [] : [{ name: relative, type, ttl: ttlSeconds, values: contents }];
    },
  );
  const differences = zoneDifferences(
    {
      name: wanted.name,
      // The types are those that were checked when they were written.
      recordSets: wanted.record_sets as readonly RecordSet[],
      nameServers: wanted.name_servers,
      nameServerTtlSeconds: wanted.name_server_ttl,
    },
    present,
  );
  return [...differences.map(viewDifference), ...signingDifference(wanted, zone)];
}

/** Keys are the provider's own: only whether there are any is compared. */
function signingDifference(wanted: DomainPayload["zone"], zone: ProviderZone | null): Shown[] {
  const isSigned = (zone?.dnssec ?? null) !== null;
  if (zone === null || isSigned === wanted.dnssec) return [];
  const kind = wanted.dnssec ? "missing" : "unexpected";
  return [{ kind, name: "@", type: "DNSKEY", wanted: null, found: null }];
}

function viewDifference(difference: Difference): Shown {
  const wanted = difference.kind === "unexpected" ? null : difference.wanted;
  const found = difference.kind === "missing" ? null : difference.found;
  const { name, type } = (wanted ?? found) as ProviderRecordSet;
  return { kind: difference.kind, name, type, wanted: viewSide(wanted), found: viewSide(found) };
}

function viewSide(side: ProviderRecordSet | RecordSet | null): Shown["wanted"] {
  if (side === null) return null;
  const values = side.values.slice(0, mostValues).map((value) => value.slice(0, longestValue));
  return { ttl: side.ttl, values };
}
