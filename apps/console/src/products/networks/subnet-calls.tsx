import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { SubnetPageProps } from "./subnet-page.tsx";

/** Everything that a subnet's page does, as calls; of its reservations, with the first one. */
export function SubnetCalls({ view, network, subnet, reservations, state }: SubnetPageProps) {
  const path = { network_id: network.id, subnet_id: subnet.id };
  const [reservation] = reservations;
  const ofReservation: readonly CalledOperation[] =
    reservation === undefined
      ? []
      : [
          {
            operation: "updateReservation",
            path: { ...path, reservation_id: reservation.id },
            body: {
              name: reservation.name,
              description: reservation.description,
              labels: reservation.labels,
            },
          },
          { operation: "deleteReservation", path: { ...path, reservation_id: reservation.id } },
        ];
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "listSubnetAddresses", path, ...(state === "" ? {} : { query: { state } }) },
        { operation: "createReservation", path, body: { name: "printer", labels: { floor: "2" } } },
        {
          operation: "updateSubnet",
          path,
          body: { name: subnet.name, dns_servers: subnet.dns_servers, labels: subnet.labels },
        },
        { operation: "deleteSubnet", path },
        ...ofReservation,
      ]}
    />
  );
}
