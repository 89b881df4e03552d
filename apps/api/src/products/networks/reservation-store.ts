import type { RequestQuery, Schemas } from "@kule/contract/schemas";
import type { DB } from "@kule/database/generated/rows";
import { type Selectable, sql } from "kysely";
import type { Database, Tx } from "../../platform/database.ts";
import { labelCondition } from "../../platform/label-filter.ts";
import { fetchPage, newestFirst, type Page } from "../../platform/pagination.ts";
import { addressState } from "./address-state.ts";

export type ReservationRow = Selectable<DB["address_reservation"]>;

/** A reservation with its address and who has it. */
export type ReservationDetails = ReservationRow & {
  readonly network_id: string;
  readonly address: string;
  readonly state: Schemas["Reservation"]["state"];
  readonly server_id: string | null;
  readonly server_name: string | null;
};

function reservationDetails(db: Database | Tx, organisationId: string) {
  return db
    .selectFrom("address_reservation as reservation")
    .innerJoin("address as a", (join) =>
      join
        .onRef("a.organisation_id", "=", "reservation.organisation_id")
        .onRef("a.subnet_id", "=", "reservation.subnet_id")
        .onRef("a.reservation_id", "=", "reservation.id"),
    )
    .innerJoin("subnet", (join) =>
      join
        .onRef("subnet.organisation_id", "=", "reservation.organisation_id")
        .onRef("subnet.id", "=", "reservation.subnet_id"),
    )
    .leftJoin("nic", (join) =>
      join.onRef("nic.organisation_id", "=", "a.organisation_id").onRef("nic.id", "=", "a.nic_id"),
    )
    .leftJoin("server", (join) =>
      join
        .onRef("server.organisation_id", "=", "nic.organisation_id")
        .onRef("server.id", "=", "nic.server_id"),
    )
    .selectAll("reservation")
    .select([
      "subnet.network_id",
      sql<string>`host(a.address)`.as("address"),
      sql<ReservationDetails["state"]>`${addressState}`.as("state"),
      "server.id as server_id",
      "server.name as server_name",
    ])
    .where("reservation.organisation_id", "=", organisationId);
}

export function listReservations(
  db: Database,
  organisationId: string,
  subnetId: string,
  query: RequestQuery<"listReservations">,
): Promise<Page<ReservationDetails>> {
  let rows = reservationDetails(db, organisationId).where("reservation.subnet_id", "=", subnetId);
  if (query.name !== undefined) rows = rows.where("reservation.name", "=", query.name);
  if (query.label_selector !== undefined)
    rows = rows.where(labelCondition(query.label_selector, "reservation.labels"));
  return fetchPage(rows, newestFirst("reservations", query, "reservation"));
}

/** @param subnetId the reservation must be this subnet's */
export async function findReservation(
  db: Database | Tx,
  organisationId: string,
  id: string,
  subnetId: string,
): Promise<ReservationDetails | null> {
  const row = await reservationDetails(db, organisationId)
    .where("reservation.subnet_id", "=", subnetId)
    .where("reservation.id", "=", id)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * The reservation under its row lock. Where addresses are allocated or released, its subnet's row is locked
 * first.
 */
export async function lockReservation(
  tx: Tx,
  organisationId: string,
  id: string,
): Promise<ReservationRow | null> {
  const row = await tx
    .selectFrom("address_reservation")
    .selectAll()
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  return row ?? null;
}

/** Names of the subnet's reservations, a few of them. */
export function listReservationsIn(
  tx: Tx,
  organisationId: string,
  subnetId: string,
): Promise<{ id: string; name: string }[]> {
  return tx
    .selectFrom("address_reservation")
    .select(["id", "name"])
    .where("organisation_id", "=", organisationId)
    .where("subnet_id", "=", subnetId)
    .orderBy("name")
    .limit(20)
    .execute();
}

/**
 * Releases the address, which stays with the server that has it or else goes into quarantine, and deletes the
 * row.
 */
export async function dropReservation(
  tx: Tx,
  { organisation_id: organisationId, id }: ReservationRow,
  quarantineSeconds: number,
): Promise<void> {
  await tx
    .updateTable("address")
    .set({
      reservation_id: null,
      state: sql<string>`case state when 'reserved' then 'quarantined' else state end`,
      free_after: sql<Date | null>`case state when 'reserved'
        then clock_timestamp() + make_interval(secs => ${quarantineSeconds}) else free_after end`,
      since: sql<Date>`case state when 'reserved' then clock_timestamp() else since end`,
    })
    .where("organisation_id", "=", organisationId)
    .where("reservation_id", "=", id)
    .execute();
  await tx
    .deleteFrom("address_reservation")
    .where("organisation_id", "=", organisationId)
    .where("id", "=", id)
    .execute();
}
