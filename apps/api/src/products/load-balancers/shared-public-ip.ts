import { refusePublicAddress, type Tier } from "@kule/rules/networks/tiers";
import { sql } from "kysely";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { givePublicIp, takePublicIp } from "../public-ips/index.ts";
import type { Place } from "./place.ts";
import { type LoadBalancerRow, writeLoadBalancer } from "./store.ts";

/*
 * The public address of a load balancer on two servers is its own and no server's: both of them may use it, and keepalived
 * brings it to the one that is active.
 */

/**
 * Reserves one for `auto`: before the network's row is locked, as everywhere. One that existed before is locked after it.
 *
 * @returns null when the create names one
 * @throws Conflict when none is left, or the subnet may have no public address
 */
export async function takeShared(
  tx: Tx,
  organisationId: string,
  { region, subnet_id: subnetId }: Place,
  wanted: string,
): Promise<string | null> {
  const { tier } = await tx
    .selectFrom("subnet")
    .select("tier")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", subnetId)
    .executeTakeFirstOrThrow();
  const refusal = refusePublicAddress({ id: subnetId, tier: tier as Tier });
  if (refusal !== null) throw new Conflict(refusal);
  if (wanted !== "auto") return null;
  return takePublicIp(tx, { organisationId, region, version: 4, address: null, more: {} });
}

/** The address, which must be locked, is the load balancer's. */
export async function sharePublicIp(tx: Tx, row: LoadBalancerRow, publicIpId: string): Promise<void> {
  await givePublicIp(tx, row.organisation_id, publicIpId, { load_balancer_id: row.id });
  await writeLoadBalancer(tx, row, { public_ip_id: publicIpId });
}

/** It is the organisation's only. Both servers must be gone. */
export async function unsharePublicIp(
  tx: Tx,
  { organisation_id, id }: Pick<LoadBalancerRow, "organisation_id" | "id">,
): Promise<void> {
  await tx
    .updateTable("public_ip")
    .set({ load_balancer_id: null, updated_at: sql<Date>`clock_timestamp()` })
    .where("organisation_id", "=", organisation_id)
    .where("load_balancer_id", "=", id)
    .execute();
}
