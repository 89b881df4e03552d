import { echo, ethernet, icmp, ip, syn, tokenOf, udp } from "@kule/testing/packets/frames";
import { outside } from "./packet-scene.ts";
import { allNodes, type Standpoint } from "./standpoint.ts";
import type { Trick } from "./trick.ts";

/** Private networks have no IPv6: no machine there is reached by it, not even by link-local addresses. */
export function version6Tricks(from: Standpoint): Trick[] {
  const { cabling, self, neighbour } = from;
  const own = cabling.linkLocalOf(self.name);
  const datagram = (flow: number, source: string, destination: string, to: string) => {
    const head = { source, destination };
    const body = ip(head, 17, udp(head, { from: flow, to: 80 }, tokenOf(flow)));
    return [ethernet({ from: from.mac, to }, "ip6", body)];
  };
  const advertisement = (flow: number, source: string) => {
    const head = { source, destination: allNodes.address, hops: 255 };
    // A router for half an hour, of high preference, with an unknown option.
    const body = Buffer.concat([
      Buffer.from([64, 8, 7, 8]),
      Buffer.alloc(8),
      Buffer.from([253, 1]),
      tokenOf(flow),
    ]);
    return [ethernet({ from: from.mac, to: allNodes.mac }, "ip6", ip(head, 58, icmp(head, 134, 0, body)))];
  };
  const globals = ["fe80::66", "fd00::5", "2001:db8:7::10", outside.beyond[6]];
  return [
    from.trick("with a router advertisement", (flow) => advertisement(flow, own)),
    from.trick("with a router advertisement of fe80::1", (flow) => advertisement(flow, "fe80::1")),
    // The router has no IPv6, for any sender.
    from.trick("with IPv6 to the internet", (flow) => datagram(flow, own, outside.beyond[6], from.router), {
      within: from.own,
    }),
    ...globals.map((source) =>
      from.trick(`with the false source ${source} to the internet`, (flow) =>
        datagram(flow, source, outside.beyond[6], from.router),
      ),
    ),
    ...(neighbour === null ? [] : toNeighbour(from, neighbour.name, globals, datagram)),
    ...from.strangers
      .slice(0, 3)
      .map((stranger) =>
        from.trick(
          `with its address of the link to ${stranger.name}`,
          (flow) => datagram(flow, own, cabling.linkLocalOf(stranger.name), cabling.macOf(stranger.name)),
          { within: from.own },
        ),
      ),
  ];
}

function toNeighbour(
  from: Standpoint,
  neighbour: string,
  globals: readonly string[],
  datagram: (flow: number, source: string, destination: string, to: string) => Buffer[],
): Trick[] {
  const { cabling, self } = from;
  const [to, mac] = [cabling.linkLocalOf(neighbour), cabling.macOf(neighbour)];
  const head = { source: cabling.linkLocalOf(self.name), destination: to };
  const link = { from: from.mac, to: mac };
  const may = { within: from.own, mustNot: neighbour };
  const what = "with its address of the link to its neighbour";
  return [
    ...globals.map((source) =>
      from.trick(`with the false source ${source} to its neighbour`, (flow) =>
        datagram(flow, source, to, mac),
      ),
    ),
    from.trick(`${what} by udp`, (flow) => datagram(flow, head.source, to, mac), may),
    from.trick(
      `${what} by tcp`,
      (flow) => [ethernet(link, "ip6", ip(head, 6, syn(head, { from: flow, to: 80 })))],
      may,
    ),
    from.trick(
      `${what} by icmp`,
      (flow) => [ethernet(link, "ip6", ip(head, 58, icmp(head, 128, 0, echo(flow))))],
      may,
    ),
    from.trick(
      "with its address of the link to all nodes",
      (flow) => datagram(flow, head.source, allNodes.address, allNodes.mac),
      may,
    ),
  ];
}
