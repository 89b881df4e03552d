import { describe, expect, test } from "vitest";
import { arp, echo, ethernet, icmp, ip, quotesAnother, sightingOf, syn, tokenOf, udp } from "./frames.ts";

const link = { from: "02:00:00:00:00:01", to: "02:00:00:00:00:02" };
const four = { source: "10.0.1.2", destination: "10.0.1.3" };
const six = { source: "fe80::1", destination: "fe80::2" };
const flow = 12_345;
const back = (frame: Buffer) => sightingOf(frame);

/** Of bytes whose checksum is right it is nothing. */
function sumOf(bytes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}

describe("a frame", () => {
  test("has the checksums that a kernel requires", () => {
    const packet = ip(four, 1, icmp(four, 8, 0, echo(flow)));
    expect(sumOf(packet.subarray(0, 20))).toBe(0xffff);
    expect(sumOf(packet.subarray(20))).toBe(0xffff);
    const datagram = udp(four, { from: flow, to: 53 }, tokenOf(flow));
    const pseudo = Buffer.from([10, 0, 1, 2, 10, 0, 1, 3, 0, 17, 0, datagram.length]);
    expect(sumOf(Buffer.concat([pseudo, datagram]))).toBe(0xffff);
  });

  test.each([
    ["udp", ethernet(link, "ip", ip(four, 17, udp(four, { from: flow, to: 53 }, tokenOf(flow))))],
    ["tcp", ethernet(link, "ip", ip(four, 6, syn(four, { from: flow, to: 80 })))],
    ["an echo", ethernet(link, "ip", ip(four, 1, icmp(four, 8, 0, echo(flow))))],
    ["an echo of IPv6", ethernet(link, "ip6", ip(six, 58, icmp(six, 128, 0, echo(flow))))],
    [
      "udp from a port of its own",
      ethernet(link, "ip", ip(four, 17, udp(four, { from: 67, to: 68 }, tokenOf(flow)))),
    ],
    [
      "a later fragment",
      ethernet(link, "ip", ip({ ...four, fragment: { id: 1, offset: 24, isLast: true } }, 17, tokenOf(flow))),
    ],
    [
      "ARP",
      ethernet(
        link,
        "arp",
        arp(
          {
            ...{ operation: "reply", senderMac: link.from, senderIp: "10.0.1.2" },
            ...{ targetMac: link.to, targetIp: "10.0.1.3" },
          },
          flow,
        ),
      ),
    ],
  ] as const)("of %s is known by its number", (_, frame) => {
    expect(back(frame)).toEqual({ flow, is: "packet", to: link.to });
  });

  test("that answers is no packet of the volley", () => {
    const answer = ethernet(link, "ip", ip(four, 17, udp(four, { from: 53, to: flow }, Buffer.alloc(0))));
    expect(back(answer)).toEqual({ flow, is: "answer", to: link.to });
    const reply = ethernet(link, "ip6", ip(six, 58, icmp(six, 129, 0, echo(flow))));
    expect(back(reply)).toEqual({ flow, is: "answer", to: link.to });
    // In fragments, as a long echo of IPv6 is answered.
    const message = icmp(six, 129, 0, echo(flow, 2000));
    const first = Buffer.concat([Buffer.from([58, 0, 0, 1, 0, 0, 0, 7]), message.subarray(0, 1400)]);
    const later = Buffer.concat([Buffer.from([58, 0, 5, 121, 0, 0, 0, 7]), message.subarray(1400)]);
    expect(back(ethernet(link, "ip6", ip(six, 44, first)))).toEqual({ flow, is: "answer", to: link.to });
    expect(back(ethernet(link, "ip6", ip(six, 44, later)))).toBeNull();
    // A refusal opens no connection, and its sender requests none.
    const refusal = syn(four, { from: flow, to: 80 });
    refusal.writeUInt8(0x04, 13);
    expect(back(ethernet(link, "ip", ip(four, 6, refusal)))).toBeNull();
    const reset = syn(four, { from: 80, to: flow });
    reset.writeUInt8(0x14, 13);
    expect(back(ethernet(link, "ip", ip(four, 6, reset)))).toBeNull();
  });

  test("that quotes another one is not that one", () => {
    const packet = ip(four, 17, udp(four, { from: flow, to: 53 }, tokenOf(flow)));
    const unreachable = icmp(four, 3, 1, Buffer.concat([Buffer.alloc(4), packet]));
    expect(quotesAnother(ethernet(link, "ip", ip(four, 1, unreachable)))).toBe(true);
    expect(quotesAnother(ethernet(link, "ip", packet))).toBe(false);
    const advertisement = icmp(six, 134, 0, Buffer.concat([Buffer.alloc(12), tokenOf(flow)]));
    const frame = ethernet(link, "ip6", ip(six, 58, advertisement));
    expect(quotesAnother(frame)).toBe(false);
    expect(back(frame)).toEqual({ flow, is: "packet", to: link.to });
  });
});
