/** The IPv6 address that an interface with this MAC has on its link (EUI-64, RFC 4291). */
export function linkLocalOf(mac: string): string {
  const bytes = mac.split(":").map((byte) => Number.parseInt(byte, 16));
  const [first = 0, second = 0, third = 0, ...rest] = bytes;
  const all = [first ^ 2, second, third, 0xff, 0xfe, ...rest];
  const groups = [0, 2, 4, 6].map((at) => ((all[at] ?? 0) * 256 + (all[at + 1] ?? 0)).toString(16));
  return `fe80::${groups.join(":")}`;
}
