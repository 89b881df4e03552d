import { type IpAddress, type IpRange, parseIp, parseIpBlock } from "../public-ips/addresses.ts";

/** @throws RangeError: the text was validated before */
export function addressOf(text: string): IpAddress {
  const address = parseIp(text);
  if (address === null) throw new RangeError(`${text} is no address`);
  return address;
}

/** @throws RangeError: the text was validated before */
export function rangeOf(text: string): IpRange {
  const block = parseIpBlock(text);
  if (block === null) throw new RangeError(`${text} is no block`);
  return block;
}

export const isSame = (one: IpAddress, other: IpAddress): boolean =>
  one.version === other.version && one.value === other.value;

export const contains = ({ version, first, last }: IpRange, address: IpAddress): boolean =>
  version === address.version && address.value >= first && address.value <= last;
