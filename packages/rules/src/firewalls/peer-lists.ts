import { type IpVersion, parseIp, parseIpBlock } from "../public-ips/addresses.ts";

/** Everybody of one IP version. Several addresses go to a hypervisor as a set, and no set takes these. */
const everybody: Readonly<Record<IpVersion, string>> = { 4: "0.0.0.0/0", 6: "::/0" };
const versionOfProtocol: Readonly<Record<string, IpVersion>> = { icmp: 4, icmpv6: 6 };

/**
 * The peers of a rule, as one list for each rule that a VM gets in its place; null stands for any address. A
 * list is either all addresses of one IP version or has no such entry. For a protocol of one IP version only
 * peers of that version count, and none at all are no rule.
 */
export function peerLists(
  protocol: string,
  addresses: readonly string[] | null,
): readonly (readonly string[] | null)[] {
  if (addresses === null) return [null];
  const only = versionOfProtocol[protocol];
  const meant = addresses.filter((each) => only === undefined || (versionOf(each) ?? only) === only);
  const open = ([4, 6] as const).filter((version) => meant.some((each) => isEverybodyOf(version, each)));
  if (open.length === 2) return [null];
  const [version] = open;
  if (version === undefined) return meant.length === 0 ? [] : [meant];
  const others = meant.filter((each) => versionOf(each) !== version);
  return [[everybody[version]], ...(others.length === 0 ? [] : [others])];
}

/** Null of a text that is neither an address nor a block. */
function versionOf(text: string): IpVersion | null {
  return (parseIpBlock(text) ?? parseIp(text))?.version ?? null;
}

function isEverybodyOf(version: IpVersion, text: string): boolean {
  const block = parseIpBlock(text);
  if (block === null || block.version !== version) return false;
  return block.last - block.first + 1n === 1n << (version === 4 ? 32n : 128n);
}
