import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { PublicIpPageProps } from "./show-page.tsx";

/** Everything that the page of an address does, as calls; of servers, with the first one. */
export function PublicIpCalls({ view, ip, servers }: PublicIpPageProps) {
  const path = { public_ip_id: ip.id };
  const calls: readonly CalledOperation[] = [
    { operation: "getPublicIp", path },
    { operation: "attachPublicIp", path, body: { server_id: servers[0]?.id ?? "srv_…" } },
    { operation: "detachPublicIp", path },
    { operation: "updatePublicIp", path, body: { ptr: ip.ptr, labels: ip.labels } },
    { operation: "deletePublicIp", path },
  ];
  return <ApiCalls view={view} calls={calls} />;
}
