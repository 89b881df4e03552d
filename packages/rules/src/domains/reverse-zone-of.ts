import { type IpAddress, parseIpBlock } from "../public-ips/addresses.ts";
import { isInside } from "./domain-name.ts";
import { pointerName, reverseZones } from "./reverse-name.ts";

export type Pointer = {
  /** The reverse zone, without its final dot. */
  readonly zone: string;
  /** The name of the PTR record, relative to the zone. */
  readonly name: string;
};

/**
 * Where the reverse name of an address is served.
 *
 * @param blocks the operator's, such as `192.0.2.0/24`; one that cannot be read is passed over
 * @returns null when none of the blocks has the address
 */
export function reverseZoneOf(address: IpAddress, blocks: readonly string[]): Pointer | null {
  const fullName = pointerName(address);
  for (const text of blocks) {
    const block = parseIpBlock(text);
    if (block === null || block.version !== address.version) continue;
    if (address.value < block.first || address.value > block.last) continue;
    const reading = reverseZones(text);
    const zone = reading.ok ? reading.zones.find((each) => isInside(fullName, each)) : undefined;
    if (zone !== undefined) return { zone, name: fullName.slice(0, -zone.length - 1) };
  }
  return null;
}

/**
 * The reverse zone of the blocks that a name is, or lies in.
 *
 * @param name canonical
 * @returns null for a name outside of all of them
 */
export function enclosingReverseZone(name: string, blocks: readonly string[]): string | null {
  for (const text of blocks) {
    const reading = reverseZones(text);
    const zone = reading.ok ? reading.zones.find((each) => isInside(name, each)) : undefined;
    if (zone !== undefined) return zone;
  }
  return null;
}
