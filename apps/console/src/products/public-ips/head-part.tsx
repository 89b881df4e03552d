import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { publicIps } from "./resource.ts";
import { toneOf } from "./status.ts";

/** The header of a public IP. */
export const headedPublicIps: HeadedResource<Schemas["PublicIp"]> = {
  resource: publicIps,
  headOf: (view, ip) => ({
    status: <Status tone={toneOf(ip)}>{view.messages.publicIps.status[ip.status]}</Status>,
    lead: `IPv${ip.version} · ${ip.region}`,
    copied: [{ id: "public-ip-address", label: view.messages.publicIps.address, text: ip.address }],
    calls: [{ operation: "getPublicIp", path: { public_ip_id: ip.id } }],
  }),
};
