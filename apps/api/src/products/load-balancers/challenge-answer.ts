import { acmePort } from "@kule/rules/load-balancers/limits";
import { sql } from "kysely";
import type { Database } from "../../platform/database.ts";

/*
 * What a load balancer answers a CA with (HTTP-01, RFC 8555 8.3): its http listener on port 80 appends the thumbprint of the
 * installation's account to whatever token is asked for, so that nothing is brought to a machine for an order.
 */

const thumbprintInUse = sql<string | null>`(
  select account.thumbprint from acme_account account order by account.in_use_since desc limit 1)`;

const hasListener = sql<boolean>`exists (
  select 1 from listener l
   where l.organisation_id = load_balancer.organisation_id and l.load_balancer_id = load_balancer.id
     and l.protocol = 'http' and l.port = ${sql.lit(acmePort)})`;

/** Of the statement's `load_balancer`. Null: it answers no CA. */
export const wantedThumbprint = sql<string | null>`(case when ${hasListener} then ${thumbprintInUse} end)`;

/** Since which generation it has been wanted, in a statement that makes the next one. */
export const wantedSince = sql<number>`(case when load_balancer.acme_thumbprint is distinct from ${wantedThumbprint}
  then load_balancer.generation + 1 else load_balancer.acme_generation end)`;

/** More than a name may lead to, for as many names as a certificate has. */
const mostAddresses = 2_000;

/**
 * The organisation's load balancers that have an http listener on port 80 and a public address, which their machines share or one of them has:
 * one of the region, or all at the addresses.
 */
export async function answeringBalancers(
  db: Database,
  organisationId: string,
  where: { readonly region: string } | { readonly addresses: readonly string[] },
) {
  const found = db
    .selectFrom("load_balancer")
    .innerJoin("public_ip", (join) =>
      join
        .onRef("public_ip.organisation_id", "=", "load_balancer.organisation_id")
        .onRef("public_ip.id", "=", "load_balancer.public_ip_id"),
    )
    .select([
      "load_balancer.id",
      "load_balancer.region",
      sql<string>`host(public_ip.address)`.as("address"),
      sql<boolean>`coalesce(load_balancer.acme_thumbprint = ${thumbprintInUse} and (
        select bool_and(m.observed_generation >= load_balancer.acme_generation) from load_balancer_machine m
         where m.organisation_id = load_balancer.organisation_id and m.load_balancer_id = load_balancer.id
           and m.server_id is not null), false)`.as("isInForce"),
    ])
    .where("load_balancer.organisation_id", "=", organisationId)
    .where("load_balancer.is_deleting", "=", false)
    .where(hasListener)
    // Two machines share it; that of one may be attached to another server since.
    .where(
      sql<boolean>`(public_ip.load_balancer_id = load_balancer.id
        or exists (select 1 from load_balancer_machine m
                    where m.organisation_id = load_balancer.organisation_id and m.load_balancer_id = load_balancer.id
                      and m.server_id = public_ip.server_id))`,
    );
  if ("region" in where) return found.where("load_balancer.region", "=", where.region).limit(1).execute();
  const addresses = where.addresses.slice(0, mostAddresses);
  return found.where(sql<boolean>`public_ip.address = any(${addresses}::inet[])`).execute();
}
