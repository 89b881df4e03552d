import type { PayloadOf } from "@kule/contract/schemas";
import type { EdgeNetwork } from "@kule/edge/edge-network";

/** The payload in the edge's types. */
export function desiredNetwork({
  network,
  generation,
  subnets,
  gateway,
}: PayloadOf<"NetworkApply">): EdgeNetwork {
  return {
    networkId: network.id,
    generation,
    subnets: subnets.map(({ id, tier, vlan, cidr, gateway_address }) => ({
      subnetId: id,
      tier,
      vlan,
      cidr,
      gatewayAddress: gateway_address,
    })),
    gateway:
      gateway === null
        ? null
        : {
            gatewayId: gateway.id,
            address: gateway.address,
            prefixLength: gateway.prefix_length,
            nextHop: gateway.next_hop,
            vlan: gateway.vlan,
            subnetIds: gateway.subnet_ids,
            portForwards: gateway.port_forwards.map(
              ({ protocol, listen_port, target_address, target_port }) => ({
                protocol,
                listenPort: listen_port,
                targetAddress: target_address,
                targetPort: target_port,
              }),
            ),
          },
  };
}
