import { type AddressRange, dotted, rangeOf } from "../subnet-races/blocks.ts";

/*
 * The use of a subnet's addresses, implemented a second time: with BigInt, from the text, and without
 * packages/rules. Two independent implementations that agree on ten thousand blocks are hardly wrong in the
 * same way.
 */

/** Null for a text that is no IPv4 block in its canonical form. */
export function readBlock(text: string): (AddressRange & { readonly length: number }) | null {
  const match = /^((?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3})\/(0|[1-9]\d?)$/.exec(text);
  const [, address = "", lengthText = ""] = match ?? [];
  const length = Number(lengthText);
  if (match === null || length > 32 || address.split(".").some((octet) => Number(octet) > 255)) return null;
  const value = rangeOf(`${address}/32`).first;
  const size = 1n << BigInt(32 - length);
  return value % size === 0n ? { first: value, last: value + size - 1n, length } : null;
}

/** Addresses that no server may have: network, gateway, broadcast. */
export function reservedOf({ first, last }: AddressRange): ReadonlySet<string> {
  return new Set([first, first + 1n, last].map(dotted));
}

/** The addresses that servers may have, in order. For small blocks only. */
export function placesOf({ first, last }: AddressRange): string[] {
  const places: string[] = [];
  for (let address = first + 2n; address < last; address += 1n) places.push(dotted(address));
  return places;
}

const privateRanges = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(rangeOf);

/** Whether a network may have this block: private, and from /8 to /28. */
export function mayBeNetwork(text: string): boolean {
  const block = readBlock(text);
  if (block === null || block.length < 8 || block.length > 28) return false;
  return privateRanges.some(({ first, last }) => first <= block.first && block.last <= last);
}

/** Whether a network of that block may have a subnet of this one: inside of it, and from /16 to /29. */
export function mayBeSubnet(text: string, network: string): boolean {
  const block = readBlock(text);
  const outer = readBlock(network);
  if (block === null || outer === null || block.length < 16 || block.length > 29) return false;
  return outer.first <= block.first && block.last <= outer.last;
}
