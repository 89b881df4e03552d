import { type Conflict, conflict } from "../../platform/errors.ts";

export function networkNameTaken(name: string, region: string): Conflict {
  return conflict("name_taken", "network_name_free", `region ${region} has a network named ${name}`, {
    fix: "take another name",
  });
}

export function subnetNameTaken(name: string): Conflict {
  return conflict("name_taken", "subnet_name_free", `the network has a subnet named ${name}`, {
    fix: "take another name",
  });
}

export function reservationNameTaken(name: string): Conflict {
  return conflict("name_taken", "reservation_name_free", `the subnet has a reservation named ${name}`, {
    fix: "take another name",
  });
}

export function cidrOverlap(cidr: string, other: { id: string; cidr: string } | null): Conflict {
  const what = other === null ? "another subnet" : `subnet ${other.id} (${other.cidr})`;
  return conflict("cidr_overlap", "cidr_free", `${cidr} overlaps with ${what}`, {
    resource: other?.id ?? null,
    fix: "choose another range, or leave cidr out",
  });
}

export function networkFull(networkId: string, cidr: string): Conflict {
  return conflict("network_full", "network_has_room", `${cidr} has no free /24 left`, {
    resource: networkId,
    fix: "name a smaller cidr that is free, or create another network",
  });
}

export function vlanExhausted(region: string): Conflict {
  return conflict("vlan_exhausted", "region_has_vlan", `region ${region} has no free VLAN left`, {
    resource: region,
    fix: "an operator widens the region's vlan_range",
  });
}

export function networkDeleting(id: string): Conflict {
  return conflict("invalid_state", "network_kept", "the network is being deleted", {
    resource: id,
    currentStatus: "deleting",
  });
}

export function subnetDeleting(id: string): Conflict {
  return conflict("invalid_state", "subnet_kept", "the subnet is being deleted", {
    resource: id,
    currentStatus: "deleting",
  });
}

export function regionInMaintenance(region: string): Conflict {
  return conflict("region_unavailable", "region_open", `region ${region} is in maintenance`, {
    resource: region,
    fix: "try again when the maintenance is over, or in another region",
  });
}
