import { echo, ethernet, icmp, ip, syn, tokenOf, udp } from "@kule/testing/packets/frames";
import { datagram, type Standpoint, unusedMac } from "./standpoint.ts";
import type { Trick } from "./trick.ts";

/** Packets from addresses that are not the sender's. */
export function falseSources(from: Standpoint): Trick[] {
  return from.targets.flatMap(({ how, mac, address }) =>
    from.lies.flatMap((source) => {
      const head = { source, destination: address };
      const link = { from: from.mac, to: mac };
      const what = `with the false source ${source} ${how}`;
      return [
        from.trick(`${what} by udp`, (flow) => [
          ethernet(link, "ip", ip(head, 17, udp(head, { from: flow, to: 53 }, tokenOf(flow)))),
        ]),
        from.trick(`${what} by tcp`, (flow) => [
          ethernet(link, "ip", ip(head, 6, syn(head, { from: flow, to: 80 }))),
        ]),
        from.trick(`${what} by icmp`, (flow) => [
          ethernet(link, "ip", ip(head, 1, icmp(head, 8, 0, echo(flow)))),
        ]),
      ];
    }),
  );
}

/** Its own bridge learns them, and forwards nothing for them there until the true owner sends a packet. */
export function falseMacs(from: Standpoint): Trick[] {
  const lies = [
    unusedMac,
    from.router,
    ...(from.neighbour === null ? [] : [from.cabling.macOf(from.neighbour.name)]),
  ];
  return from.targets.flatMap(({ how, mac, address }) =>
    lies
      .filter((lie) => lie !== mac)
      .map((lie) =>
        from.trick(`with the false MAC ${lie} ${how}`, (flow) => [
          ethernet({ from: lie, to: mac }, "ip", datagram(flow, from.self.address, address)),
        ]),
      ),
  );
}

/** What an honest server would be allowed, fragmented so that it looks like something else on the way. */
export function falseFragments(from: Standpoint): Trick[] {
  const cut = (flow: number, source: string, destination: string, overlap: boolean) => {
    const head = { source, destination };
    const whole = udp(head, { from: flow, to: 53 }, Buffer.concat([tokenOf(flow), Buffer.alloc(34)]));
    const second = Buffer.concat([tokenOf(flow), Buffer.alloc(18)]);
    const id = flow;
    return [
      ip({ ...head, fragment: { id, offset: 0, isLast: false } }, 17, whole.subarray(0, 24)),
      ip({ ...head, fragment: { id, offset: overlap ? 8 : 24, isLast: true } }, 17, second),
    ];
  };
  return from.targets.flatMap(({ how, mac, address }) => {
    const link = { from: from.mac, to: mac };
    const lie = from.lies[0] ?? "";
    return [
      from.trick(`in fragments with the false source ${lie} ${how}`, (flow) =>
        cut(flow, lie, address, false).map((each) => ethernet(link, "ip", each)),
      ),
      from.trick(
        `with a first fragment of its own and a second with the false source ${lie} ${how}`,
        (flow) => {
          const [first] = cut(flow, from.self.address, address, false);
          const [, second] = cut(flow, lie, address, false);
          return [first, second].flatMap((each) => (each === undefined ? [] : [ethernet(link, "ip", each)]));
        },
      ),
      from.trick(`in fragments that lie over one another ${how}`, (flow) =>
        cut(flow, from.self.address, address, true).map((each) => ethernet(link, "ip", each)),
      ),
    ];
  });
}
