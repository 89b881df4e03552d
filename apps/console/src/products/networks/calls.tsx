import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { NetworkPageProps } from "./props.ts";
import { networks } from "./resource.ts";

/** All actions of a network's page, as calls. */
export function NetworkCalls({ view, network }: NetworkPageProps) {
  const path = { network_id: network.id };
  const change = callsOf(networks, network);
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "getNetwork", path },
        { operation: "createSubnet", path, body: { name: "web", tier: "app", labels: { env: "prod" } } },
        change.update,
        change.delete,
      ]}
    />
  );
}
