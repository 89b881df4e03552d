import type { Claim } from "@kule/rules/domains/claim";
import { nearestParent } from "@kule/rules/domains/ownership";
import { sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import type { DomainRow } from "./store.ts";
import { provingNameServers } from "./view.ts";

/**
 * From here to the end of the transaction nobody else's domain becomes proven: what is decided by all organisations' claims
 * holds. Take it before any domain's row lock: the lost claims of others are written under it.
 */
export async function lockOwnership(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('kule domain ownership', 0))`.execute(tx);
}

/** All claims on the name, on its parents and on names inside of it, of whatever organisations, and the time. */
export async function readClaims(
  tx: Tx,
  name: string,
): Promise<{ readonly claims: readonly Claim[]; readonly nowMs: number }> {
  const [{ rows }, now] = await Promise.all([
    sql<{
      id: string;
      organisation_id: string;
      name: string;
      is_verified: boolean;
      created_at: Date;
      label: string;
      name_servers: string[];
      is_by_parent: boolean;
      is_leaving: boolean;
      is_busy: boolean;
    }>`select * from kule_domain_claims(${name})`.execute(tx),
    sql<{ now: Date }>`select clock_timestamp() as now`.execute(tx),
  ]);
  return {
    claims: rows.map((row) => ({
      id: row.id,
      organisationId: row.organisation_id,
      name: row.name,
      status: row.is_verified ? "verified" : "pending",
      claimedAtMs: row.created_at.getTime(),
      nameServers: row.is_verified ? ownNameServersOf(row) : [],
      isByParent: row.is_by_parent,
      isLeaving: row.is_leaving,
      isBusy: row.is_busy,
    })),
    nowMs: now.rows[0]?.now.getTime() ?? 0,
  };
}

/** Where every domain has the same name servers, a delegation to them does not say whose it is: it keeps the name. */
function ownNameServersOf(row: Pick<DomainRow, "label" | "name_servers">): readonly string[] {
  const own = provingNameServers(row);
  return own.length > 0 ? own : row.name_servers;
}

/** Whether the nearest proven parent has name servers for the name, or for a name between the two. */
export async function isDelegatedByParent(tx: Tx, name: string, claims: readonly Claim[]): Promise<boolean> {
  const parent = nearestParent(name, claims);
  if (parent === null) return false;
  const labels = name.slice(0, -parent.name.length - 1).split(".");
  const between = labels.map((_, index) => labels.slice(index).join("."));
  const { rows } = await sql<{ delegates: boolean }>`
    select kule_domain_delegates(${parent.organisationId}, ${parent.id}, ${between}::text[]) as delegates`.execute(
    tx,
  );
  return rows[0]?.delegates === true;
}

/** Ends others' claims on a name that was proven. */
export async function loseClaims(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await sql`select kule_domain_lost(${[...ids]}::text[])`.execute(tx);
}

/** Ends another organisation's domain of a name that was proven. */
export async function takeDomain(tx: Tx, id: string | null): Promise<void> {
  if (id !== null) await sql`select kule_domain_taken(${id})`.execute(tx);
}

/** The name servers of those of the names that are proven domains now, of whatever organisations. */
export async function nameServersOf(
  tx: Database | Tx,
  names: readonly string[],
): Promise<readonly { readonly name: string; readonly name_servers: readonly string[] }[]> {
  if (names.length === 0) return [];
  const { rows } = await sql<{ name: string; name_servers: string[] }>`
    select * from kule_domain_name_servers(${[...names]}::text[]) order by name`.execute(tx);
  return rows;
}
