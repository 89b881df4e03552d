import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { PublicIpsPageProps } from "./list-page.tsx";

/** Everything that the page does with its addresses, as calls; with the first one. */
export function PublicIpCalls({ view, ips, servers }: Pick<PublicIpsPageProps, "view" | "ips" | "servers">) {
  const [ip] = ips.items;
  const path = { public_ip_id: ip?.id ?? "" };
  const ofIp: readonly CalledOperation[] =
    ip === undefined
      ? []
      : [
          { operation: "attachPublicIp", path, body: { server_id: servers[0]?.id ?? "srv_…" } },
          { operation: "detachPublicIp", path },
          { operation: "updatePublicIp", path, body: { ptr: ip.ptr } },
          { operation: "deletePublicIp", path },
        ];
  return <ApiCalls view={view} calls={[{ operation: "listPublicIps" }, ...ofIp]} />;
}
