import { macAddress } from "@kule/rules/servers/mac";
import type { Tx } from "../../platform/database.ts";
import { violatedReference } from "../../platform/database-errors.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { allocateAddress } from "../networks/index.ts";
import { lockSubnetRow } from "./surroundings.ts";

type FirstInterface = {
  readonly organisationId: string;
  readonly region: { readonly slug: string; readonly number: number };
  readonly serverId: string;
  readonly subnetId: string;
  readonly vmid: number;
  /** The requested private address; without one, the lowest free one. */
  readonly wanted: string | undefined;
};

/**
 * Creates the interface of a server that has just got its VM number, with its address. Only a request for a certain
 * address locks the subnet.
 *
 * @throws Invalid when the subnet was deleted concurrently; Conflict when no address is free, or not the one wanted
 */
export async function addFirstInterface(
  tx: Tx,
  { organisationId, region, serverId, subnetId, vmid, wanted }: FirstInterface,
): Promise<void> {
  if (wanted !== undefined && !(await lockSubnetRow(tx, organisationId, subnetId))) throw subnetIsGone();
  const nicId = newId("nic");
  const interfaceRow = tx.insertInto("nic").values({
    id: nicId,
    organisation_id: organisationId,
    region: region.slug,
    server_id: serverId,
    subnet_id: subnetId,
    position: 0,
    mac: macAddress(region.number, vmid, 0),
  });
  sendAhead(tx, interfaceRow, (error) => (violatedReference(error) === null ? error : subnetIsGone()));
  const address = await allocateAddress(tx, { organisationId, subnetId, holder: { nicId }, wanted });
  if (address === null) throw subnetIsGone();
}

function subnetIsGone(): Invalid {
  return new Invalid([fieldError("/subnet_id", "not_found", "no such subnet")]);
}
