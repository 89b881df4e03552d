import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps } from "./props.ts";
import { gateways } from "./resource.ts";

/** The actions of the overview as calls; those on subnets, servers and ports use the first one. */
export function overviewCalls(props: OverviewProps): readonly CalledOperation[] {
  const { gateway, network, forwards, servers } = props;
  const path = { gateway_id: gateway.id };
  const [served] = gateway.subnets;
  const other = network.subnets.find(
    ({ id, tier }) => tier !== "data" && !gateway.subnets.some(({ subnet_id }) => subnet_id === id),
  );
  const [server] = servers;
  const [forward] = forwards;
  const calls: readonly (CalledOperation | null)[] = [
    other === undefined ? null : { operation: "attachGatewaySubnet", path, body: { subnet_id: other.id } },
    served === undefined
      ? null
      : { operation: "detachGatewaySubnet", path: { ...path, subnet_id: served.subnet_id } },
    {
      operation: "createPortForward",
      path,
      body: { protocol: "tcp", listen_port: 443, server_id: server?.id ?? "srv_…" },
    },
    forward === undefined
      ? null
      : { operation: "deletePortForward", path: { ...path, port_forward_id: forward.id } },
  ];
  return calls.filter((call) => call !== null);
}

/** The gateway's name, description, labels and deletion as calls. */
export function settingsCalls(gateway: Schemas["Gateway"]): readonly CalledOperation[] {
  return Object.values(callsOf(gateways, gateway));
}
