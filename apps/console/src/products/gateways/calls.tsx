import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { GatewayPageProps } from "./props.ts";
import { gateways } from "./resource.ts";

/** All actions of a gateway's page as calls; those on subnets, servers and ports use the first one. */
export function GatewayCalls({ view, gateway, network, forwards, servers }: GatewayPageProps) {
  const path = { gateway_id: gateway.id };
  const change = callsOf(gateways, gateway);
  const [served] = gateway.subnets;
  const other = network.subnets.find(
    ({ id, tier }) => tier !== "data" && !gateway.subnets.some(({ subnet_id }) => subnet_id === id),
  );
  const [server] = servers;
  const [forward] = forwards;
  const calls: readonly (CalledOperation | null)[] = [
    { operation: "getGateway", path },
    change.update,
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
    change.delete,
  ];
  return <ApiCalls view={view} calls={calls.filter((call) => call !== null)} />;
}
