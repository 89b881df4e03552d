import { parseAddress } from "@kule/rules/networks/cidr";

/** Sorts by address, as people expect; the API returns the newest first. */
export function inAddressOrder<S extends { readonly cidr: string }>(subnets: readonly S[]): S[] {
  return subnets.toSorted((one, other) => placeOf(one.cidr) - placeOf(other.cidr));
}

export const placeOf = (cidr: string): number => parseAddress(cidr.split("/")[0] ?? "") ?? 0;
