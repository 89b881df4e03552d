import type { PayloadOf } from "@kule/contract/schemas";
import { referencedServer } from "@kule/rules/domains/address-values";
import { relativeName } from "@kule/rules/domains/record-name";
import type { Tx } from "../../platform/database.ts";
import type { JobRow } from "../../platform/jobs.ts";
import { challengeValues } from "./challenges.ts";
import { nameServersOf } from "./ownership-store.ts";
import { type RecordSetRow, recordSetsOf } from "./record-store.ts";
import { readServerAddresses } from "./server-addresses.ts";
import type { DomainRow } from "./store.ts";

export type DomainPayload = PayloadOf<"DomainApply">;
type WantedSet = DomainPayload["zone"]["record_sets"][number];

/** Of the name servers of the domain itself, and of those that it delegates to. */
const nameServerTtlSeconds = 3_600;

/** The whole zone as the name servers should have it, from the present intent. */
export async function renderDomainPayload(tx: Tx, job: JobRow): Promise<DomainPayload> {
  const domain = await tx
    .selectFrom("domain")
    .selectAll()
    .where("organisation_id", "=", job.organisation_id)
    .where("id", "=", job.resource_id)
    .executeTakeFirst();
  if (domain === undefined) throw new Error(`job ${job.id} has no domain`);
  const isGone = domain.status === "deleting";
  return {
    kind: "DomainApply",
    generation: domain.generation,
    state: isGone ? "gone" : "present",
    zone: await wantedZone(tx, domain, isGone),
  };
}

/** The zone of a domain as a payload has it. */
export async function wantedZone(tx: Tx, domain: DomainRow, isGone = false): Promise<DomainPayload["zone"]> {
  return {
    name: domain.name,
    name_servers: domain.name_servers.map((name) => `${name}.`),
    name_server_ttl: nameServerTtlSeconds,
    dnssec: domain.dnssec_enabled,
    record_sets: isGone ? [] : await wantedSets(tx, domain),
  };
}

async function wantedSets(tx: Tx, domain: DomainRow): Promise<WantedSet[]> {
  const rows = await recordSetsOf(tx, domain, null);
  const followed = rows.flatMap(({ server_id }) => (server_id === null ? [] : [server_id]));
  const addresses = await readServerAddresses(tx, domain.organisation_id, [...new Set(followed)]);
  const own = rows.map((row) => {
    const serverId = referencedServer(row.values[0] ?? "");
    return {
      name: row.name,
      type: row.type,
      ttl: row.ttl_seconds,
      values: serverId === null ? row.values : [...addresses.of(serverId, row.type)],
    };
  });
  const kept = await keptDelegations(tx, domain, rows);
  return withChallenges([...own, ...kept], await challengeValues(tx, domain));
}

/** In seconds: CAs look at once, and a later attempt has other values. */
const challengeTtlSeconds = 60;

/** A TXT record set of the domain's own keeps its values; beside a CNAME no other record can be. */
function withChallenges(
  own: readonly WantedSet[],
  challenges: readonly { readonly name: string; readonly values: string[] }[],
): WantedSet[] {
  const added = new Map(
    challenges
      .filter(({ name }) => !own.some((set) => set.name === name && set.type === "CNAME"))
      .map(({ name, values }) => [name, values]),
  );
  const merged = own.map((set) => {
    const values = set.type === "TXT" ? added.get(set.name) : undefined;
    if (values === undefined) return set;
    added.delete(set.name);
    return {
      ...set,
      ttl: Math.min(set.ttl, challengeTtlSeconds),
      values: [...new Set([...set.values, ...values])],
    };
  });
  return [
    ...merged,
    ...[...added].map(([name, values]) => ({ name, type: "TXT", ttl: challengeTtlSeconds, values })),
  ];
}

/**
 * Names inside of the zone that other organisations had before it: delegated to their name servers, as long as they have
 * them. What the organisation has set itself at such a name goes before.
 */
async function keptDelegations(
  tx: Tx,
  { name: zone, kept_delegations }: DomainRow,
  rows: readonly RecordSetRow[],
): Promise<WantedSet[]> {
  const taken = new Set(rows.filter(({ type }) => type === "NS" || type === "CNAME").map(({ name }) => name));
  const kept = await nameServersOf(tx, kept_delegations);
  return kept.flatMap(({ name, name_servers }) => {
    const relative = relativeName(`${name}.`, zone);
    if (relative === null || taken.has(relative)) return [];
    const values = name_servers.map((server) => `${server}.`);
    return [{ name: relative, type: "NS", ttl: nameServerTtlSeconds, values }];
  });
}
