import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** The actions of the overview as calls; those on servers use the first one. */
export function overviewCalls({ ip, servers }: OverviewProps): readonly CalledOperation[] {
  const path = { public_ip_id: ip.id };
  return [
    { operation: "attachPublicIp", path, body: { server_id: servers[0]?.id ?? "srv_…" } },
    { operation: "detachPublicIp", path },
  ];
}

/** The address's settings, labels and release as calls. */
export function settingsCalls(ip: Schemas["PublicIp"]): readonly CalledOperation[] {
  return Object.values(callsOf(publicIps, ip));
}
