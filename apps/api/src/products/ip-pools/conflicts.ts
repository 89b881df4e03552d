import { inUse, nameTaken, rangeOverlap } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export function poolNameTaken(name: string, region: string): Conflict {
  return new Conflict(
    nameTaken("ip_pool_name_free", `a pool named ${name} exists in region ${region}`, {
      fix: "take another name",
    }),
  );
}

/** @param what that cannot go, such as "the pool" */
export function addressesInUse(
  what: string,
  held: { readonly address: string; readonly public_ip_id: string | null },
): Conflict {
  const why = held.public_ip_id === null ? "allocated, or rests after its release" : "taken";
  return new Conflict(
    inUse("ip_pool_addresses_free", `${what} cannot go: ${held.address} is ${why}`, {
      resource: held.public_ip_id,
      fix: "withdraw its allocations first; a released address is quarantined for a while",
    }),
  );
}

export function rangesOverlap(overlapped: { readonly id: string; readonly text: string } | null): Conflict {
  return new Conflict(
    rangeOverlap(
      "ip_pool_range_apart",
      overlapped === null
        ? "an address of the range is in another one"
        : `the range overlaps ${overlapped.text}, which is in a pool already`,
      { resource: overlapped?.id ?? null, fix: "add the addresses that are in no range yet" },
    ),
  );
}
