import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { NetworkPageProps } from "./show-page.tsx";

/** Everything that a network's page does, as calls; of its subnets, with the first one. */
export function NetworkCalls({ view, network, subnets }: NetworkPageProps) {
  const path = { network_id: network.id };
  const [subnet] = subnets;
  const ofSubnet: readonly CalledOperation[] =
    subnet === undefined
      ? []
      : [
          {
            operation: "updateSubnet",
            path: { ...path, subnet_id: subnet.id },
            body: { name: subnet.name, dns_servers: subnet.dns_servers, labels: subnet.labels },
          },
          { operation: "deleteSubnet", path: { ...path, subnet_id: subnet.id } },
        ];
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "getNetwork", path },
        { operation: "createSubnet", path, body: { name: "web", tier: "app", labels: { env: "prod" } } },
        ...ofSubnet,
        {
          operation: "updateNetwork",
          path,
          body: { name: network.name, description: network.description, labels: network.labels },
        },
        { operation: "deleteNetwork", path },
      ]}
    />
  );
}
