import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { PublicIpPageProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** All actions of an address's page as calls; those on servers use the first one. */
export function PublicIpCalls({ view, ip, servers }: PublicIpPageProps) {
  const path = { public_ip_id: ip.id };
  const change = callsOf(publicIps, ip);
  const calls: readonly CalledOperation[] = [
    { operation: "getPublicIp", path },
    { operation: "attachPublicIp", path, body: { server_id: servers[0]?.id ?? "srv_…" } },
    { operation: "detachPublicIp", path },
    change.update,
    change.delete,
  ];
  return <ApiCalls view={view} calls={calls} />;
}
