import { type IpAddress, type IpRange, parseIpBlock, rangeSize } from "../public-ips/addresses.ts";
import { type Flawed, flawed, shown } from "./problem.ts";

export type ReverseZoneRule = "block" | "block_too_small" | "block_too_large";

/** How addresses are named in reverse: 8 bits a label in decimal, or 4 bits a label in hexadecimal. */
const forms = {
  4: { bits: 32, labelBits: 8, radix: 10, suffix: "in-addr.arpa", longestPrefix: 24 },
  6: { bits: 128, labelBits: 4, radix: 16, suffix: "ip6.arpa", longestPrefix: 124 },
} as const;

/** The name at which the PTR record of an address is: `10.2.0.192.in-addr.arpa`. */
export function pointerName(address: IpAddress): string {
  return reverseName(address, forms[address.version].bits);
}

/**
 * The reverse zones of a block such as `192.0.2.0/24`: one if the block ends at a label's boundary, else those
 * of its parts (a /22 is four /24).
 */
export function reverseZones(
  blockText: string,
): { readonly ok: true; readonly zones: readonly string[] } | Flawed<ReverseZoneRule> {
  const block = parseIpBlock(blockText);
  if (block === null)
    return flawed(
      "block",
      `${shown(blockText)} is not a block of addresses`,
      "Enter a block such as 192.0.2.0/24",
    );
  const { bits, labelBits, longestPrefix } = forms[block.version];
  const prefix = bits - (rangeSize(block).toString(2).length - 1);
  if (prefix > longestPrefix) return tooSmall(block);
  if (prefix === 0)
    return flawed("block_too_large", "The block has all addresses", "Enter the blocks that are yours");
  return { ok: true, zones: zonesOf(block, Math.ceil(prefix / labelBits) * labelBits) };
}

/**
 * The addresses that have their names at or below a reverse name: of a zone such as `2.0.192.in-addr.arpa` its block, of the
 * name of a PTR record its address.
 *
 * @returns null when it is no reverse name in its usual form
 */
export function reverseNameRange(name: string): IpRange | null {
  for (const version of [4, 6] as const) {
    const { bits, labelBits, radix, suffix } = forms[version];
    if (!name.endsWith(`.${suffix}`)) continue;
    const labels = name.slice(0, -suffix.length - 1).split(".");
    const free = BigInt(bits - labels.length * labelBits);
    if (free < 0n) return null;
    let value = 0n;
    for (const label of labels.reverse()) {
      const part = Number.parseInt(label, radix);
      // Compared as text: another text for the same number is another name.
      if (part.toString(radix) !== label || part < 0 || part >= 1 << labelBits) return null;
      value = (value << BigInt(labelBits)) | BigInt(part);
    }
    return { version, first: value << free, last: ((value + 1n) << free) - 1n };
  }
  return null;
}

/** A part of the last label's addresses needs records in the zone of the whole label, which others have. */
function tooSmall({ version }: IpRange): Flawed<ReverseZoneRule> {
  const { longestPrefix } = forms[version];
  return flawed(
    "block_too_small",
    `A block smaller than a /${longestPrefix} has no reverse zone of its own; delegations of single addresses (RFC 2317) are not supported`,
    `Enter a block of a /${longestPrefix} or larger, or ask its owner to set the reverse names`,
  );
}

function zonesOf({ version, first, last }: IpRange, zonePrefix: number): string[] {
  const size = 1n << BigInt(forms[version].bits - zonePrefix);
  const zones: string[] = [];
  for (let value = first; value <= last; value += size)
    zones.push(reverseName({ version, value }, zonePrefix));
  return zones;
}

/** @param prefix how many of the leading bits are named; a multiple of a label's bits */
function reverseName({ version, value }: IpAddress, prefix: number): string {
  const { bits, labelBits, radix, suffix } = forms[version];
  const labels: string[] = [];
  for (let named = labelBits; named <= prefix; named += labelBits) {
    const label = (value >> BigInt(bits - named)) & ((1n << BigInt(labelBits)) - 1n);
    labels.unshift(label.toString(radix));
  }
  return [...labels, suffix].join(".");
}
