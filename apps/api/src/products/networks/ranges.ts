import type { FieldError } from "@kule/contract/field-errors";
import {
  type Cidr,
  containsCidr,
  formatCidr,
  isPrivate,
  nextFreeBlock,
  parseCidr,
} from "@kule/rules/networks/cidr";
import { fieldError } from "../../platform/errors.ts";

const tenSlashEight: Cidr = { network: 0x0a000000, prefixLength: 8 };

/** What is wrong with a network's range. */
export function networkCidrErrors(text: string): FieldError[] {
  const cidr = readCidr(text);
  if ("code" in cidr) return [cidr];
  if (cidr.prefixLength < 8 || cidr.prefixLength > 28)
    return [fieldError("/cidr", "out_of_range", "a network is from /8 to /28")];
  if (!isPrivate(cidr))
    return [
      fieldError(
        "/cidr",
        "out_of_range",
        "must be a private range: in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
      ),
    ];
  return [];
}

/** What is wrong with a subnet's range in its network. */
export function subnetCidrErrors(text: string, networkCidr: string): FieldError[] {
  const cidr = readCidr(text);
  if ("code" in cidr) return [cidr];
  if (cidr.prefixLength < 16 || cidr.prefixLength > 29)
    return [fieldError("/cidr", "out_of_range", "a subnet is from /16 to /29")];
  if (!containsCidr(blockOf(networkCidr), cidr))
    return [fieldError("/cidr", "out_of_range", `is not inside the network ${networkCidr}`)];
  return [];
}

/**
 * The next free /16 of 10.0.0.0/8. Networks are isolated from each other, so when all are used the first one
 * is used again.
 */
export function nextNetworkRange(taken: readonly { readonly cidr: string }[]): string {
  const blocks = taken.map(({ cidr }) => blockOf(cidr));
  return formatCidr(nextFreeBlock(tenSlashEight, 16, blocks) ?? { network: 0x0a000000, prefixLength: 16 });
}

/** The next free /24 of the network (all of it when it is smaller); null when there is none. */
export function nextSubnetRange(
  networkCidr: string,
  taken: readonly { readonly cidr: string }[],
): string | null {
  const network = blockOf(networkCidr);
  const blocks = taken.map(({ cidr }) => blockOf(cidr));
  const found = nextFreeBlock(network, Math.max(24, network.prefixLength), blocks);
  return found === null ? null : formatCidr(found);
}

/** A block from the database. */
export function blockOf(text: string): Cidr {
  const cidr = parseCidr(text);
  if (typeof cidr === "string") throw new Error(`${text} is no block`);
  return cidr;
}

function readCidr(text: string): Cidr | FieldError {
  const cidr = parseCidr(text);
  if (cidr === "host_bits")
    return fieldError(
      "/cidr",
      "invalid_format",
      "has bits set beyond its prefix; send the first address of the block",
    );
  if (cidr === "format")
    return fieldError("/cidr", "invalid_format", "is not an IPv4 block such as 10.20.0.0/16");
  return cidr;
}
