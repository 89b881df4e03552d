import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { formatAddress, parseAddress, subnetAddresses } from "@kule/rules/networks/cidr";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, NotFound } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { allocateAddress } from "./addresses.ts";
import { reservationNameTaken, subnetDeleting } from "./conflicts.ts";
import { blockOf } from "./ranges.ts";
import { findReservation } from "./reservation-store.ts";
import { type FoundSubnet, lockSubnet } from "./subnet-store.ts";
import { viewReservation } from "./view.ts";

export function checkCreateReservation(
  _request: ApiRequest<"createReservation">,
  { address }: Partial<RequestBody<"createReservation">>,
  subnet: FoundSubnet,
): FieldError[] {
  const wanted = address === undefined ? null : parseAddress(address);
  if (wanted === null) return [];
  const { firstServer, lastServer } = subnetAddresses(blockOf(subnet.cidr));
  if (wanted >= firstServer && wanted <= lastServer) return [];
  const range = `must be from ${formatAddress(firstServer)} to ${formatAddress(lastServer)}`;
  return [fieldError("/address", "out_of_range", range)];
}

/** It needs no job: the region has no state for an address before a server has it. */
export async function createReservation(
  request: ApiRequest<"createReservation">,
  tx: Tx,
  found: FoundSubnet,
): Promise<Outcome> {
  const { body, organisationId } = request;
  // Before the row that references it, as in a server's create: the reference takes a lock too.
  const subnet = await lockSubnet(tx, organisationId, found.id);
  if (subnet === null) throw new NotFound();
  if (subnet.status === "deleting") throw subnetDeleting(subnet.id);
  const id = newId("rsv");
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("address_reservation")
    .values({
      id,
      organisation_id: organisationId,
      region: subnet.region,
      subnet_id: subnet.id,
      name: body.name,
      description: body.description ?? "",
      labels: JSON.stringify(body.labels ?? {}),
    })
    .onConflict((on) => on.constraint("reservation_name").doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) throw reservationNameTaken(body.name);
  const address = await allocateAddress(tx, {
    organisationId,
    subnetId: subnet.id,
    holder: { reservationId: id },
    wanted: body.address,
  });
  if (address === null) throw new NotFound();
  const row = await findReservation(tx, organisationId, id, subnet.id);
  if (row === null) throw new Error("a reservation that was just made could not be found");
  return {
    reply: reply(201, viewReservation(row), {
      Location: `/api/v1/networks/${subnet.network_id}/subnets/${subnet.id}/reservations/${id}`,
      ETag: `"g${row.generation}"`,
    }),
    resource: id,
    details: { subnet_id: subnet.id, address: row.address },
  };
}
