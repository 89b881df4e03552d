import { ethernet } from "@kule/testing/packets/frames";
import { datagram, type Standpoint } from "./standpoint.ts";
import type { Trick } from "./trick.ts";

/** As if a switch could be misled: the frame names a machine in another network. */
export function misdirectedFrames(from: Standpoint): Trick[] {
  const { self, topology, cabling, routers } = from;
  const foreignRouters = [...routers.inside]
    .filter(([subnetId]) =>
      topology.subnets.some((each) => each.id === subnetId && each.networkId !== self.networkId),
    )
    .map(([, mac]) => mac);
  return [
    ...from.strangers.map((stranger) =>
      from.trick(
        `to the MAC of ${stranger.name}`,
        (flow) => [
          ethernet(
            { from: from.mac, to: cabling.macOf(stranger.name) },
            "ip",
            datagram(flow, self.address, stranger.address),
          ),
        ],
        { within: from.own },
      ),
    ),
    ...foreignRouters.map((mac) =>
      from.trick(
        `to the MAC ${mac} of another network's router`,
        (flow) => [ethernet({ from: from.mac, to: mac }, "ip", datagram(flow, self.address, "10.0.2.2"))],
        { within: from.own },
      ),
    ),
  ];
}
