import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { Status } from "../../layout/parts.tsx";
import type { SelectedKind } from "../selected/selected-kind.ts";
import { toneOf } from "./public-ip-status.ts";
import { whyNot } from "./why-not.ts";

const optionsOf = (id: string, key: string) => ({
  params: { path: { public_ip_id: id }, header: { "Idempotency-Key": key } },
});

export const selectedPublicIps: SelectedKind<Schemas["PublicIp"], "detach" | "release"> = {
  page: "/public-ips",
  section: "publicIps",
  prefix: "ip_",
  acts: {
    detach: {
      permission: "public_ip:update",
      isDanger: true,
      why: (view, ip) => whyNot({ view, ip }, "detach"),
      called: (id) => ({ operation: "detachPublicIp", path: { public_ip_id: id } }),
      ask: (api, id, key) => attempt(api.POST("/public-ips/{public_ip_id}/detach", optionsOf(id, key))),
    },
    release: {
      permission: "public_ip:delete",
      isDanger: true,
      isTyped: true,
      why: (view, ip) => whyNot({ view, ip }, "delete"),
      called: (id) => ({ operation: "deletePublicIp", path: { public_ip_id: id } }),
      ask: (api, id, key) => attempt(api.DELETE("/public-ips/{public_ip_id}", optionsOf(id, key))),
    },
  },
  texts: ({ selectionKinds }) => selectionKinds.publicIps,
  read: (api, id) =>
    readOrNull(api.GET("/public-ips/{public_ip_id}", { params: { path: { public_ip_id: id } } })),
  nameOf: ({ id, address }) => ({ id, name: address }),
  pathOf: (id) => `/public-ips/${id}`,
  state: ({ messages }, ip) => <Status tone={toneOf(ip)}>{messages.publicIps.status[ip.status]}</Status>,
};
