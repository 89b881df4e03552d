/** First and last address of a block, written apart from the product's own arithmetic. */
export type AddressRange = { readonly first: bigint; readonly last: bigint };

export function rangeOf(cidr: string): AddressRange {
  const [address = "", length = ""] = cidr.split("/");
  let first = 0n;
  for (const octet of address.split(".")) first = (first << 8n) | BigInt(octet);
  return { first, last: first | ((1n << (32n - BigInt(length))) - 1n) };
}

export function overlapping(one: AddressRange, other: AddressRange): boolean {
  return one.first <= other.last && other.first <= one.last;
}

/** `10.1.2.3` of a number. */
export function dotted(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((address >> shift) & 255n)).join(".");
}

/** Blocks from /20 to /29 in a /18, so that most overlap with several others. */
export function randomBlocks(random: () => number, count: number): string[] {
  const base = rangeOf(`10.${Math.floor(random() * 256)}.0.0/18`).first;
  return Array.from({ length: count }, () => {
    const length = 20 + Math.floor(random() * 10);
    const size = 1n << BigInt(32 - length);
    const slot = BigInt(Math.floor(random() * 2 ** (length - 18)));
    return `${dotted(base + slot * size)}/${length}`;
  });
}
