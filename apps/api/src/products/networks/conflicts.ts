import { cidrOverlap, nameTaken, networkFull, resourceDeleting } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export function networkNameTaken(name: string, region: string): Conflict {
  return new Conflict(
    nameTaken("network_name_free", `region ${region} has a network named ${name}`, {
      fix: "take another name",
    }),
  );
}

export function subnetNameTaken(name: string): Conflict {
  return new Conflict(
    nameTaken("subnet_name_free", `the network has a subnet named ${name}`, {
      fix: "take another name",
    }),
  );
}

export function reservationNameTaken(name: string): Conflict {
  return new Conflict(
    nameTaken("reservation_name_free", `the subnet has a reservation named ${name}`, {
      fix: "take another name",
    }),
  );
}

export function cidrTaken(cidr: string, other: { id: string; cidr: string } | null): Conflict {
  const what = other === null ? "another subnet" : `subnet ${other.id} (${other.cidr})`;
  return new Conflict(
    cidrOverlap("cidr_free", `${cidr} overlaps with ${what}`, {
      resource: other?.id ?? null,
      fix: "choose another range, or leave cidr out",
    }),
  );
}

export function noRoomForSubnet(networkId: string, cidr: string): Conflict {
  return new Conflict(
    networkFull("network_has_room", `${cidr} has no free /24 left`, {
      resource: networkId,
      fix: "name a smaller cidr that is free, or create another network",
    }),
  );
}

export function networkDeleting(id: string): Conflict {
  return new Conflict(
    resourceDeleting("network_not_deleting", "the network is being deleted", { resource: id }),
    "deleting",
  );
}

export function subnetDeleting(id: string): Conflict {
  return new Conflict(
    resourceDeleting("subnet_not_deleting", "the subnet is being deleted", { resource: id }),
    "deleting",
  );
}
