import { decideGiveToOwner } from "@kule/rules/public-ips/lifecycle";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict, fieldError, Invalid } from "../../platform/errors.ts";
import { factsOf, lockPublicIp } from "./store.ts";

/**
 * The address that the body of a create names, under its lock.
 *
 * @throws Conflict `already_attached` when it is in use
 */
export async function lockFreePublicIp(tx: Tx, organisationId: string, id: string): Promise<string> {
  const ip = await lockPublicIp(tx, organisationId, id);
  if (ip === null) throw new Invalid([fieldError("/public_ip", "not_found", "no such public IP")]);
  const [taken] = decideGiveToOwner(factsOf(ip));
  if (taken !== undefined) throw new Conflict(taken);
  return ip.id;
}

/** A server's VM does not exist yet: it is said to hold the address from its first boot on. */
type NewOwner =
  | { readonly gateway_id: string }
  | { readonly load_balancer_id: string }
  | { readonly server_id: string; readonly held_by: string };

/** The address, which this transaction has reserved or locked, is the owner's from now on. */
export async function givePublicIp(
  tx: Tx,
  organisationId: string,
  publicIpId: string,
  owner: NewOwner,
): Promise<void> {
  await tx
    .updateTable("public_ip")
    .set({
      ...owner,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", publicIpId)
    .execute();
}
