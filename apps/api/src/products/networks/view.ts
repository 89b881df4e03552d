import type { Schemas } from "@kule/contract/schemas";
import { subnetAddresses } from "@kule/rules/networks/cidr";
import { egressOf, type Tier } from "@kule/rules/networks/tiers";
import type { HeldAddress } from "./address-list.ts";
import type { AddressUse } from "./address-state.ts";
import { blockOf } from "./ranges.ts";
import type { ReservationDetails } from "./reservation-store.ts";
import type { NetworkDetails } from "./store.ts";
import type { SubnetDetails } from "./subnet-store.ts";

export function viewNetwork(row: NetworkDetails): Schemas["Network"] {
  return {
    id: row.id,
    name: row.name,
    region: row.region,
    cidr: row.cidr,
    description: row.description,
    is_default: row.is_default,
    status: row.status as Schemas["NetworkStatus"],
    status_reason: reasonOf(row),
    subnets: row.subnets.map(({ id, name, tier, cidr }) => ({ id, name, tier: tier as Tier, cidr })),
    usage: viewUsage(row.addresses_total, row.address_use),
    labels: row.labels as Schemas["Labels"],
    generation: row.generation,
    observed_generation: row.observed_generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function viewUsage(total: number, { used, quarantined, reserved }: AddressUse): Schemas["AddressUsage"] {
  return {
    addresses_total: total,
    addresses_used: used + quarantined,
    addresses_quarantined: quarantined,
    addresses_reserved: reserved,
    addresses_free: total - used - quarantined - reserved,
  };
}

function reasonOf(
  row: Pick<NetworkDetails, "status_code" | "status_message" | "status_job_id">,
): Schemas["NetworkStatusReason"] | null {
  if (row.status_code === null) return null;
  return {
    code: row.status_code as Schemas["NetworkStatusReason"]["code"],
    message: row.status_message ?? "",
    job_id: row.status_job_id ?? "",
  };
}

/** @param showVlan VLANs are the operators' business */
export function viewSubnet(row: SubnetDetails, showVlan: boolean): Schemas["Subnet"] {
  const tier = row.tier as Tier;
  return {
    id: row.id,
    network_id: row.network_id,
    name: row.name,
    region: row.region,
    tier,
    cidr: row.cidr,
    gateway_ip: row.gateway_ip,
    dns_servers: row.dns_servers,
    egress: egressOf(tier, row.is_let_out),
    vlan: showVlan ? row.vlan : null,
    status: row.status as Schemas["NetworkStatus"],
    // The job is the network's, and so is what became of it.
    status_reason: row.status === "error" || row.status === "deleting" ? reasonOf(row) : null,
    usage: viewUsage(subnetAddresses(blockOf(row.cidr)).serverCount, row.address_use),
    labels: row.labels as Schemas["Labels"],
    generation: row.generation,
    observed_generation: row.observed_generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewAddress(row: HeldAddress): Schemas["SubnetAddress"] {
  return {
    address: row.address,
    state: row.state,
    role: row.role,
    server: viewHolder(row.server_id, row.server_name),
    reservation: viewHolder(row.reservation_id, row.reservation_name),
    since: row.since.toISOString(),
    free_after: row.free_after?.toISOString() ?? null,
  };
}

export function viewReservation(row: ReservationDetails): Schemas["Reservation"] {
  return {
    id: row.id,
    network_id: row.network_id,
    subnet_id: row.subnet_id,
    region: row.region,
    name: row.name,
    description: row.description,
    address: row.address,
    state: row.state,
    server: viewHolder(row.server_id, row.server_name),
    labels: row.labels as Schemas["Labels"],
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

function viewHolder(id: string | null, name: string | null): Schemas["AddressHolder"] | null {
  return id === null || name === null ? null : { id, name };
}
