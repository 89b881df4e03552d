import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { GatewayPageProps } from "./show-page.tsx";

/** Everything that a gateway's page does, as calls; of subnets, servers and ports, with the first one. */
export function GatewayCalls({ view, gateway, network, forwards, servers }: GatewayPageProps) {
  const path = { gateway_id: gateway.id };
  const [served] = gateway.subnets;
  const other = network.subnets.find(
    ({ id, tier }) => tier !== "data" && !gateway.subnets.some(({ subnet_id }) => subnet_id === id),
  );
  const [server] = servers;
  const [forward] = forwards;
  const calls: readonly (CalledOperation | null)[] = [
    { operation: "getGateway", path },
    {
      operation: "updateGateway",
      path,
      body: { name: gateway.name, description: gateway.description, labels: gateway.labels },
    },
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
    { operation: "deleteGateway", path },
  ];
  return <ApiCalls view={view} calls={calls.filter((call) => call !== null)} />;
}
