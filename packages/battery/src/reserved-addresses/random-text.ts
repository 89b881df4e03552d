import { dotted } from "../subnet-races/blocks.ts";

/**
 * A text that a caller may send as a block: mostly IPv4 blocks of every size, many private, some with a flaw,
 * some IPv6.
 */
export function randomBlockText(random: () => number): string {
  const pick = <T>(things: readonly T[], fallback: T): T =>
    things[Math.floor(random() * things.length)] ?? fallback;
  const length = pick([8, 12, 16, 20, 24, 24, 27, 28, 29, 29, 30, 31, 32, Math.floor(random() * 33)], 24);
  const base = pick([0x0a000000, 0xac100000, 0xc0a80000, Math.floor(random() * 2 ** 32)], 0x0a000000);
  const bits = base === 0x0a000000 ? 24 : base === 0xac100000 ? 20 : base === 0xc0a80000 ? 16 : 0;
  const address = BigInt(base) + BigInt(Math.floor(random() * 2 ** bits));
  const size = 1n << BigInt(32 - length);
  const block = `${dotted(address - (address % size))}/${length}`;
  switch (Math.floor(random() * 12)) {
    case 0:
      return `${dotted(address)}/${length}`;
    case 1:
      return flawed(block, random);
    case 2:
      return pick(["fd00::/64", "fd00:1:2::/48", "::/0", "::ffff:10.0.0.0/120", "2001:db8::/32"], "::/0");
    default:
      return block;
  }
}

function flawed(block: string, random: () => number): string {
  const [address = "", length = ""] = block.split("/");
  const flaws = [
    address,
    `${address}/`,
    `${address}/0${length}`,
    `${address}/33`,
    `${address}/-1`,
    `${address}/${length}/24`,
    ` ${block}`,
    `${block} `,
    address.replace(/^\d+/, "256").concat(`/${length}`),
    `0${block}`,
    `${address}.1/${length}`,
    address.split(".").slice(1).join(".").concat(`/${length}`),
    block.replace(".", ","),
    `${address}/${length}.0`,
    `${address}/1e1`,
    "",
  ];
  return flaws[Math.floor(random() * flaws.length)] ?? "";
}
