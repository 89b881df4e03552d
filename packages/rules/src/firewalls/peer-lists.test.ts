import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type IpAddress, type IpRange, parseIp, parseIpBlock } from "../public-ips/addresses.ts";
import { peerLists } from "./peer-lists.ts";

const blocks = ["0.0.0.0/0", "::/0", "10.0.0.0/8", "192.0.2.1", "2001:db8::/32", "fd00::1", "0.0.0.0/1"];
const probes = ["10.1.2.3", "192.0.2.1", "200.0.0.1", "2001:db8:ffff::1", "fd00::1", "2a00::1"];
const rangeOf = (text: string): IpRange => {
  const address = parseIp(text);
  const range =
    address === null
      ? parseIpBlock(text)
      : { version: address.version, first: address.value, last: address.value };
  if (range === null) throw new Error(text);
  return range;
};
const holds = ({ version, first, last }: IpRange, address: IpAddress) =>
  version === address.version && address.value >= first && address.value <= last;

describe("The peers of a rule", () => {
  it("match the same addresses in their lists as together, and none of another version than the protocol's", () => {
    const any = fc.array(fc.constantFrom(...blocks), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(any, fc.constantFrom("tcp", "any", "icmp", "icmpv6"), (peers, protocol) => {
        const lists = peerLists(protocol, peers);
        for (const probe of probes) {
          const address = parseIp(probe);
          if (address === null) throw new Error(probe);
          const isOfProtocol =
            protocol === "icmp" ? address.version === 4 : protocol !== "icmpv6" || address.version === 6;
          const meant = isOfProtocol && peers.some((peer) => holds(rangeOf(peer), address));
          const written =
            isOfProtocol &&
            lists.some((list) => list === null || list.some((peer) => holds(rangeOf(peer), address)));
          expect(written, `${probe} in ${JSON.stringify({ protocol, peers, lists })}`).toBe(meant);
        }
      }),
    );
  });

  it("are never /0 and other blocks in one list, nor of two versions for a protocol of one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...blocks), { maxLength: 5 }),
        fc.constantFrom("udp", "icmp", "icmpv6"),
        (peers, protocol) => {
          for (const list of peerLists(protocol, peers)) {
            if (list === null) continue;
            expect(list.length).toBeGreaterThan(0);
            if (list.length > 1) expect(list.some((peer) => peer.endsWith("/0"))).toBe(false);
            if (protocol !== "udp")
              expect(list.every((peer) => peer.includes(":") === (protocol === "icmpv6"))).toBe(true);
          }
        },
      ),
    );
  });

  it("are any address when they cover both versions, and when there are none", () => {
    expect(peerLists("tcp", ["0.0.0.0/0", "10.0.0.0/8", "::/0"])).toEqual([null]);
    expect(peerLists("tcp", null)).toEqual([null]);
    expect(peerLists("icmp", ["::/0"])).toEqual([]);
  });
});
