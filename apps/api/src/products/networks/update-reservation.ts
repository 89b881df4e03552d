import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { violatedConstraint } from "../../platform/database-errors.ts";
import { NotFound } from "../../platform/errors.ts";
import { changedLabels, labelErrors } from "../../platform/labels.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { reservationNameTaken } from "./conflicts.ts";
import { findReservation, lockReservation, type ReservationDetails } from "./reservation-store.ts";
import { viewReservation } from "./view.ts";

export function checkUpdateReservation(
  _request: ApiRequest<"updateReservation">,
  body: Partial<RequestBody<"updateReservation">>,
  found: ReservationDetails,
): FieldError[] {
  return labelErrors(found.labels, body.labels);
}

export async function updateReservation(
  request: ApiRequest<"updateReservation">,
  tx: Tx,
  found: ReservationDetails,
): Promise<Outcome> {
  const { body, organisationId } = request;
  const reservation = await lockReservation(tx, organisationId, found.id);
  if (reservation === null) throw new NotFound();
  const labels = body.labels === undefined ? {} : { labels: changedLabels(reservation.labels, body.labels) };
  request.checkGeneration(reservation);
  await tx
    .updateTable("address_reservation")
    .set({
      ...(body.name === undefined ? {} : { name: body.name }),
      ...(body.description === undefined ? {} : { description: body.description }),
      ...labels,
      generation: sql<number>`generation + 1`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where("organisation_id", "=", organisationId)
    .where("id", "=", reservation.id)
    .execute()
    .catch((error: unknown) => {
      throw violatedConstraint(error) === "reservation_name" ? reservationNameTaken(body.name ?? "") : error;
    });
  const row = await findReservation(tx, organisationId, reservation.id, reservation.subnet_id);
  if (row === null) throw new Error("a reservation that was just changed could not be found");
  return {
    reply: reply(200, viewReservation(row), { ETag: `"g${row.generation}"` }),
    resource: row.id,
  };
}
