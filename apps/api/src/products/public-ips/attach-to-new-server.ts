import type { FieldError } from "@kule/contract/field-errors";
import type { Database, Tx } from "../../platform/database.ts";
import { Conflict, fieldError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { takePublicIp } from "./allocation.ts";
import { givePublicIp, lockFreePublicIp } from "./give-to-owner.ts";
import { tierRefusal } from "./placement.ts";
import { findPublicIp } from "./store.ts";

/** What is wrong with the public address that a create names. */
export async function publicIpOfNewServerErrors(
  { db, organisationId }: { readonly db: Database | Tx; readonly organisationId: string },
  wanted: string | undefined,
  region: string | null,
): Promise<FieldError[]> {
  if (wanted === undefined || wanted === "auto") return [];
  const ip = isId("ip", wanted) ? await findPublicIp(db, organisationId, wanted) : null;
  if (ip === null) return [fieldError("/public_ip", "not_found", "no such public IP")];
  return region === null || ip.region === region
    ? []
    : [fieldError("/public_ip", "conflicts_with", `is not in region ${region}`)];
}

/**
 * Attaches a public address to a server that is being created, in the transaction that writes it: the job
 * that creates the server configures it.
 *
 * @param wanted `auto` reserves a free IPv4 address of those allocated to the organisation
 */
export async function attachIpToNewServer(
  tx: Tx,
  organisationId: string,
  server: { readonly id: string; readonly region: string },
  wanted: string,
): Promise<void> {
  const refusal = await tierRefusal(tx, organisationId, server.id);
  if (refusal !== null) throw new Conflict(refusal);
  const id =
    wanted === "auto"
      ? await takePublicIp(tx, { organisationId, region: server.region, version: 4, address: null, more: {} })
      : wanted;
  await lockFreePublicIp(tx, organisationId, id);
  await givePublicIp(tx, organisationId, id, { server_id: server.id, held_by: server.id });
}
