import { networkCidrErrors, subnetCidrErrors } from "@kule/api/products/networks/ranges";
import {
  containsAddress,
  containsCidr,
  formatAddress,
  formatCidr,
  lastAddressOf,
  nextFreeBlock,
  overlaps,
  parseAddress,
  parseCidr,
  sizeOf,
  subnetAddresses,
} from "@kule/rules/networks/cidr";
import { overlapping } from "../subnet-races/blocks.ts";
import { mayBeNetwork, mayBeSubnet, readBlock, reservedOf } from "./oracle.ts";

/** Where the product's arithmetic and the oracle's differ for a text, alone and together with another one. */
export function differences(text: string, other: string, network: string): string[] {
  const found: string[] = [];
  const agree = (what: string, product: unknown, oracle: unknown) => {
    if (String(product) !== String(oracle))
      found.push(`${what}: the product says ${product}, and not ${oracle}`);
  };
  const oracle = readBlock(text);
  const parsed = parseCidr(text);
  agree(`${JSON.stringify(text)} is a block`, typeof parsed !== "string", oracle !== null);
  agree(`${JSON.stringify(text)} may be a network`, networkCidrErrors(text).length === 0, mayBeNetwork(text));
  if (mayBeNetwork(network))
    agree(
      `${JSON.stringify(text)} may be a subnet of ${network}`,
      subnetCidrErrors(text, network).length === 0,
      mayBeSubnet(text, network),
    );
  if (oracle === null || typeof parsed === "string") return found;

  agree(`${text} as text`, formatCidr(parsed), text);
  agree(`size of ${text}`, sizeOf(parsed), oracle.last - oracle.first + 1n);
  agree(`last address of ${text}`, lastAddressOf(parsed), oracle.last);
  const second = parseCidr(other);
  const secondOracle = readBlock(other);
  if (typeof second !== "string" && secondOracle !== null) {
    agree(`${text} overlaps ${other}`, overlaps(parsed, second), overlapping(oracle, secondOracle));
    agree(
      `${text} holds ${other}`,
      containsCidr(parsed, second),
      oracle.first <= secondOracle.first && secondOracle.last <= oracle.last,
    );
    found.push(...nextBlockDifferences(text, other));
  }
  if (oracle.length <= 29) found.push(...placeDifferences(text));
  return found;
}

/** Network, gateway and broadcast address are no server's; every other one can be. */
function placeDifferences(text: string): string[] {
  const oracle = readBlock(text);
  const parsed = parseCidr(text);
  if (oracle === null || typeof parsed === "string") return [];
  const { network, gateway, broadcast, firstServer, lastServer, serverCount } = subnetAddresses(parsed);
  const found: string[] = [];
  const reserved = [...reservedOf(oracle)].toSorted().join(" ");
  const said = [network, gateway, broadcast].map(formatAddress).toSorted().join(" ");
  if (said !== reserved) found.push(`${text} reserves ${said}, and not ${reserved}`);
  for (const address of reservedOf(oracle)) {
    const value = parseAddress(address) ?? -1;
    if (value >= firstServer && value <= lastServer) found.push(`${text} would hand out ${address}`);
  }
  if (
    BigInt(serverCount) !== oracle.last - oracle.first + 1n - 3n ||
    lastServer - firstServer + 1 !== serverCount
  )
    found.push(`${text} has ${serverCount} places from ${formatAddress(firstServer)} on`);
  for (const address of [firstServer, lastServer])
    if (!containsAddress(parsed, address)) found.push(`${text} would hand out ${formatAddress(address)}`);
  return found;
}

/**
 * The next free block inside of one, with another one in use: tried one after the other, if there are few.
 */
function nextBlockDifferences(within: string, taken: string): string[] {
  const outer = readBlock(within);
  const other = readBlock(taken);
  const product = [parseCidr(within), parseCidr(taken)] as const;
  if (outer === null || other === null || typeof product[0] === "string" || typeof product[1] === "string")
    return [];
  const length = Math.min(32, outer.length + 4);
  const size = 1n << BigInt(32 - length);
  let expected: bigint | null = null;
  for (let first = outer.first; first <= outer.last && expected === null; first += size)
    if (!overlapping({ first, last: first + size - 1n }, other)) expected = first;
  const found = nextFreeBlock(product[0], length, [product[1]]);
  const said = found === null ? null : BigInt(found.network);
  return said === expected
    ? []
    : [`the next /${length} of ${within} beside ${taken}: the product says ${said}, and not ${expected}`];
}
