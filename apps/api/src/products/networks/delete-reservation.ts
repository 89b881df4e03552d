import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { noContent } from "../../platform/reply.ts";
import { dropReservation, lockReservation, type ReservationDetails } from "./reservation-store.ts";
import { lockSubnet } from "./subnet-store.ts";

export async function deleteReservation(
  request: ApiRequest<"deleteReservation">,
  tx: Tx,
  found: ReservationDetails,
): Promise<Outcome> {
  const { organisationId } = request;
  // Only the holder of the subnet's row lock allocates and releases its addresses.
  await lockSubnet(tx, organisationId, found.subnet_id);
  const reservation = await lockReservation(tx, organisationId, found.id);
  if (reservation === null) throw new NotFound();
  request.checkGeneration(reservation);
  await dropReservation(tx, reservation, request.deps.settings.addressQuarantineSeconds);
  return {
    reply: noContent(),
    resource: reservation.id,
    details: { subnet_id: reservation.subnet_id, name: reservation.name, address: found.address },
  };
}
