/** An IPv4 block. `network` is its first address as an unsigned 32-bit number, with the host bits zero. */
export type Cidr = { readonly network: number; readonly prefixLength: number };

export type CidrProblem = "format" | "host_bits";

const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** `10.0.0.1` as an unsigned number; null when it is not an address in its usual form (no leading zeros). */
export function parseAddress(text: string): number | null {
  const match = octets.exec(text);
  if (match === null) return null;
  let address = 0;
  for (const octet of match.slice(1)) {
    const value = Number(octet);
    if (value > 255 || String(value) !== octet) return null;
    address = address * 256 + value;
  }
  return address;
}

/** The address as text, `10.0.0.1`. */
export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

/**
 * Reads `10.0.0.0/16`. A block with host bits set (`10.0.0.1/16`) is distinguished from text that is not a
 * block.
 */
export function parseCidr(text: string): Cidr | CidrProblem {
  const [addressText, prefixText, ...rest] = text.split("/");
  if (addressText === undefined || prefixText === undefined || rest.length > 0) return "format";
  const address = parseAddress(addressText);
  const prefixLength = Number(prefixText);
  if (address === null || !/^\d{1,2}$/.test(prefixText) || String(prefixLength) !== prefixText)
    return "format";
  if (prefixLength > 32) return "format";
  if (networkOf(address, prefixLength) !== address) return "host_bits";
  return { network: address, prefixLength };
}

/** The block as text, `10.0.0.0/16`. */
export function formatCidr(cidr: Cidr): string {
  return `${formatAddress(cidr.network)}/${cidr.prefixLength}`;
}

/** How many addresses the block has, network and broadcast address included. */
export function sizeOf(cidr: Cidr): number {
  return 2 ** (32 - cidr.prefixLength);
}

/** The first address of the block of that length that contains the address. */
export function networkOf(address: number, prefixLength: number): number {
  const size = 2 ** (32 - prefixLength);
  return Math.floor(address / size) * size;
}

/** The last address of the block. */
export function lastAddressOf(cidr: Cidr): number {
  return cidr.network + sizeOf(cidr) - 1;
}

/** True if the address is in the block. */
export function containsAddress(cidr: Cidr, address: number): boolean {
  return address >= cidr.network && address <= lastAddressOf(cidr);
}

/** True if `inner` is wholly in `outer` (or the same). */
export function containsCidr(outer: Cidr, inner: Cidr): boolean {
  return inner.prefixLength >= outer.prefixLength && containsAddress(outer, inner.network);
}

/** True if the two share an address. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  return one.prefixLength <= other.prefixLength ? containsCidr(one, other) : containsCidr(other, one);
}

const privateBlocks: readonly Cidr[] = [
  { network: 0x0a000000, prefixLength: 8 },
  { network: 0xac100000, prefixLength: 12 },
  { network: 0xc0a80000, prefixLength: 16 },
];

/** True if the block is wholly in one of the private ranges of RFC 1918. */
export function isPrivate(cidr: Cidr): boolean {
  return privateBlocks.some((block) => containsCidr(block, cidr));
}

/**
 * The lowest block of that length in `within` that overlaps none of `taken`; null when there is none. Takes one step
 * per taken block, not one per candidate, so a nearly full /8 is no slower than an empty one.
 */
export function nextFreeBlock(within: Cidr, prefixLength: number, taken: readonly Cidr[]): Cidr | null {
  if (prefixLength < within.prefixLength || prefixLength > 32) return null;
  const size = 2 ** (32 - prefixLength);
  const end = lastAddressOf(within);
  const inOrder = taken.filter((block) => overlaps(block, within)).sort((a, b) => a.network - b.network);
  let candidate = within.network;
  for (const block of inOrder) {
    if (block.network >= candidate + size) break;
    const after = lastAddressOf(block) + 1;
    if (after > candidate) candidate = Math.ceil(after / size) * size;
  }
  return candidate + size - 1 <= end ? { network: candidate, prefixLength } : null;
}

/** Blocks that have every IPv4 address that is in none of these, each once, in their order. They are never all of IPv4. */
export function remainingBlocks(
  left: readonly Cidr[],
  within: Cidr = { network: 0, prefixLength: 0 },
): Cidr[] {
  const isCut = within.prefixLength === 0 || left.some((block) => overlaps(block, within));
  if (left.some((block) => containsCidr(block, within))) return [];
  if (!isCut) return [within];
  const prefixLength = within.prefixLength + 1;
  const upper = { network: within.network + 2 ** (32 - prefixLength), prefixLength };
  return [
    ...remainingBlocks(left, { network: within.network, prefixLength }),
    ...remainingBlocks(left, upper),
  ];
}

/** The addresses of a subnet that no server can have, and the range that servers can. */
export type SubnetAddresses = {
  readonly network: number;
  readonly gateway: number;
  readonly broadcast: number;
  readonly firstServer: number;
  readonly lastServer: number;
  /** How many addresses servers can have. */
  readonly serverCount: number;
};

/** How the addresses of a subnet are used: the first usable one is the gateway's. Subnets are /29 or wider. */
export function subnetAddresses(cidr: Cidr): SubnetAddresses {
  const broadcast = lastAddressOf(cidr);
  return {
    network: cidr.network,
    gateway: cidr.network + 1,
    broadcast,
    firstServer: cidr.network + 2,
    lastServer: broadcast - 1,
    serverCount: Math.max(0, sizeOf(cidr) - 3),
  };
}
