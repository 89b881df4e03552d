import { noLinkAddresses } from "../firewalls/link-addresses.ts";
import { type IpAddress, isSpecial, parseIpBlock } from "../public-ips/addresses.ts";

const inside = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"].map(
  parseIpBlock,
);

/** Whether the address can be public, by its block: not private, shared, local or reserved. */
export function isPublicAddress(address: IpAddress): boolean {
  if (isSpecial(address)) return false;
  return !inside.some(
    (block) =>
      block?.version === address.version && address.value >= block.first && address.value <= block.last,
  );
}

const link = parseIpBlock(noLinkAddresses.addresses[0]);

/** Whether the address means something on one cable alone (fe80::). */
export const isLinkLocal = ({ version, value }: IpAddress): boolean =>
  link?.version === version && value >= link.first && value <= link.last;
