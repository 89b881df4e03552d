import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { NetworkPageProps } from "./show-page.tsx";

/** Everything that a network's page does, as calls. */
export function NetworkCalls({ view, network }: NetworkPageProps) {
  const path = { network_id: network.id };
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "getNetwork", path },
        { operation: "createSubnet", path, body: { name: "web", tier: "app", labels: { env: "prod" } } },
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
