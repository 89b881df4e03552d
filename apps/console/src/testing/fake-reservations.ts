import type { Schemas } from "@kule/contract/schemas";
import { relabelled } from "./fake-labels.ts";
import type { Operation } from "./fake-operation.ts";
import { page } from "./fake-page.ts";
import { fakeId } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type Subnet = Schemas["Subnet"];

/** The subnet's first three octets; subnets of the fake are /24. */
const blockOf = ({ cidr }: Subnet) => cidr.split(".").slice(0, 3).join(".");
const lastOf = (address: string) => Number(address.split(".")[3]);

export function fakeReservation(
  subnet: Subnet,
  body: Schemas["ReservationCreate"] & { readonly address: string },
): Schemas["Reservation"] {
  const now = new Date().toISOString();
  return {
    id: fakeId("rsv"),
    network_id: subnet.network_id,
    subnet_id: subnet.id,
    region: subnet.region,
    name: body.name,
    description: body.description ?? "",
    address: body.address,
    state: "reserved",
    server: null,
    labels: body.labels ?? {},
    generation: 1,
    created_at: now,
    updated_at: now,
  };
}

/** Reserved addresses and the list of all that are not free. */
export function registerReservations(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.subnets.find((subnet) => subnet.id === id);
  const absent = "There is no such subnet";
  const base = "/networks/:network_id/subnets/:subnet_id";

  operation("get", `${base}/addresses`, "listSubnetAddresses", ({ params, query, fail }) => {
    const subnet = find(params.subnet_id);
    if (subnet === undefined) return fail(404, "not_found", absent);
    const wanted = query.get("state");
    const all = addressesOf(state, subnet);
    return page(wanted === null ? all : all.filter((each) => each.state === wanted), query);
  });
  operation("get", `${base}/reservations`, "listReservations", ({ params, query }) =>
    page(
      state.reservations.filter(({ subnet_id }) => subnet_id === params.subnet_id),
      query,
    ),
  );
  operation<Schemas["ReservationCreate"]>(
    "post",
    `${base}/reservations`,
    "createReservation",
    ({ params, body, fail }) => {
      const subnet = find(params.subnet_id);
      if (subnet === undefined) return fail(404, "not_found", absent);
      if (state.reservations.some(({ name, subnet_id }) => subnet_id === subnet.id && name === body.name))
        return fail(409, "name_taken", `the subnet has a reservation named ${body.name}`);
      const taken = new Set(addressesOf(state, subnet).map(({ address }) => address));
      const numbers = Array.from({ length: 253 }, (_, index) => `${blockOf(subnet)}.${index + 2}`);
      const address = body.address ?? numbers.find((each) => !taken.has(each)) ?? "";
      if (taken.has(address)) return fail(409, "address_in_use", `the address ${address} is not free`);
      if (!numbers.includes(address)) {
        const wrong = { field: "address", code: "out_of_range" as const, pointer: "/address" };
        const errors = [{ ...wrong, message: `must be from ${numbers[0]} to ${numbers.at(-1)}` }];
        return fail(422, "validation_failed", "The request is wrong", { errors });
      }
      const reservation = fakeReservation(subnet, { ...body, address });
      state.reservations.push(reservation);
      subnet.usage.addresses_reserved += 1;
      subnet.usage.addresses_free -= 1;
      return { status: 201, body: reservation };
    },
  );
  operation<Schemas["ReservationUpdate"]>(
    "patch",
    `${base}/reservations/:reservation_id`,
    "updateReservation",
    ({ params, body, fail }) => {
      const reservation = state.reservations.find(({ id }) => id === params.reservation_id);
      if (reservation === undefined) return fail(404, "not_found", "There is no such reservation");
      const { id, subnet_id } = reservation;
      if (
        state.reservations.some(
          (each) => each.subnet_id === subnet_id && each.id !== id && each.name === body.name,
        )
      )
        return fail(409, "name_taken", `the subnet has a reservation named ${body.name}`);
      return relabelled(reservation, body, fail, () => ({ status: 200, body: reservation }));
    },
  );
  operation("delete", `${base}/reservations/:reservation_id`, "deleteReservation", ({ params, fail }) => {
    const reservation = state.reservations.find(({ id }) => id === params.reservation_id);
    const subnet = find(params.subnet_id);
    if (reservation === undefined || subnet === undefined)
      return fail(404, "not_found", "There is no such reservation");
    state.reservations.splice(state.reservations.indexOf(reservation), 1);
    subnet.usage.addresses_reserved -= 1;
    subnet.usage.addresses_used += 1;
    subnet.usage.addresses_quarantined += 1;
    state.quarantinedAddresses.push({ subnetId: subnet.id, address: reservation.address });
    return { status: 204 };
  });
}

function addressesOf(state: FakeState, subnet: Subnet): Schemas["SubnetAddress"][] {
  const since = new Date(Date.now() - 7_200_000).toISOString();
  const nobody = { role: null, server: null, reservation: null, since, free_after: null };
  const block = blockOf(subnet);
  const kept = state.reservations.filter(({ subnet_id }) => subnet_id === subnet.id);
  const used = state.servers.flatMap(({ id, name, interfaces }) =>
    interfaces
      .filter(({ subnet_id }) => subnet_id === subnet.id)
      .map(({ private_ip: address }) => ({
        ...nobody,
        address,
        state: "used" as const,
        server: { id, name },
        reservation: kept.find((each) => each.address === address) ?? null,
      })),
  );
  return [
    { ...nobody, address: `${block}.0`, state: "platform" as const, role: "network" as const },
    { ...nobody, address: `${block}.1`, state: "platform" as const, role: "gateway" as const },
    { ...nobody, address: `${block}.255`, state: "platform" as const, role: "broadcast" as const },
    ...used,
    ...kept
      .filter(({ address }) => used.every((each) => each.address !== address))
      .map((reservation) => ({
        ...nobody,
        address: reservation.address,
        state: "reserved" as const,
        reservation,
      })),
    ...state.quarantinedAddresses
      .filter(({ subnetId }) => subnetId === subnet.id)
      .map(({ address }) => ({
        ...nobody,
        address,
        state: "quarantined" as const,
        free_after: new Date(Date.now() + 540_000).toISOString(),
      })),
  ]
    .map(({ reservation, ...each }) => ({
      ...each,
      reservation: reservation === null ? null : { id: reservation.id, name: reservation.name },
    }))
    .sort((one, other) => lastOf(one.address) - lastOf(other.address));
}
