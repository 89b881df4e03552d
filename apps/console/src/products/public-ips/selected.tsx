import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import { deleteAct, operationAct, type SelectedKind } from "../selected/kind.ts";
import { disabledReason } from "./disabled-reason.ts";
import { publicIps } from "./resource.ts";
import { toneOf } from "./status.ts";

export const selectedPublicIps: SelectedKind<Schemas["PublicIp"], "detach" | "release"> = {
  resource: publicIps,
  acts: {
    detach: {
      ...operationAct(publicIps, "detachPublicIp", (view, ip) => disabledReason({ view, ip }, "detach")),
      isDanger: true,
    },
    release: deleteAct(publicIps, (view, ip) => disabledReason({ view, ip }, "delete")),
  },
  texts: ({ selectionKinds }) => selectionKinds.publicIps,
  state: ({ messages }, ip) => <Status tone={toneOf(ip)}>{messages.publicIps.status[ip.status]}</Status>,
};
