import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps, SubnetOverviewProps } from "./props.ts";
import { reservations as reservationResource } from "./reservation-resource.ts";
import { networks } from "./resource.ts";
import { subnets } from "./subnet-resource.ts";

/** What the overview reads and asks as calls, and the one that creates a subnet. */
export function overviewCalls({ network }: OverviewProps): readonly CalledOperation[] {
  const path = { network_id: network.id };
  return [
    { operation: "listSubnets", path },
    { operation: "createSubnet", path, body: exampleSubnet },
  ];
}

/** The body of the shown calls that create a subnet. */
export const exampleSubnet = { name: "web", tier: "app", labels: { env: "prod" } } as const;

/** The network's name, description, labels and deletion as calls. */
export function settingsCalls(network: Schemas["Network"]): readonly CalledOperation[] {
  return Object.values(callsOf(networks, network));
}

/** The subnet's addresses and reservations as calls; those on a reservation use the first one. */
export function subnetOverviewCalls(props: SubnetOverviewProps): readonly CalledOperation[] {
  const { network, subnet, reservations, state } = props;
  const path = { network_id: network.id, subnet_id: subnet.id };
  const [reservation] = reservations;
  return [
    { operation: "listSubnetAddresses", path, ...(state === "" ? {} : { query: { state } }) },
    { operation: "createReservation", path, body: { name: "printer", labels: { floor: "2" } } },
    ...(reservation === undefined ? [] : Object.values(callsOf(reservationResource, reservation))),
  ];
}

/** The subnet's name, name servers, labels and deletion as calls. */
export function subnetSettingsCalls(subnet: Schemas["Subnet"]): readonly CalledOperation[] {
  return Object.values(callsOf(subnets, subnet));
}
