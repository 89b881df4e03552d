import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { SubnetPageProps } from "./props.ts";
import { reservations as reservationResource } from "./reservation-resource.ts";
import { subnets } from "./subnet-resource.ts";

/** All actions of a subnet's page as calls; those on reservations use the first one. */
export function SubnetCalls({ view, network, subnet, reservations, state }: SubnetPageProps) {
  const path = { network_id: network.id, subnet_id: subnet.id };
  const [reservation] = reservations;
  const change = callsOf(subnets, subnet);
  const ofReservation =
    reservation === undefined ? [] : Object.values(callsOf(reservationResource, reservation));
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "listSubnetAddresses", path, ...(state === "" ? {} : { query: { state } }) },
        { operation: "createReservation", path, body: { name: "printer", labels: { floor: "2" } } },
        change.update,
        change.delete,
        ...ofReservation,
      ]}
    />
  );
}
