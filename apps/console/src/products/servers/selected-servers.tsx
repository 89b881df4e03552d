import type { Schemas } from "@kule/contract/schemas";
import { attempt, readOrNull } from "../../api.ts";
import { Status } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { SelectedAct, SelectedKind } from "../selected/selected-kind.ts";
import { serverTone } from "./server-status.ts";
import { type ServerActionName, whyNot } from "./why-not.ts";

type Server = Schemas["Server"];
type ServerAct = SelectedAct<Server> & { readonly action: ServerActionName };

const optionsOf = (id: string, key: string) => ({
  params: { path: { server_id: id }, header: { "Idempotency-Key": key } },
});

/** Of an act what the server itself says of it, and what the role may. */
const asked = (action: ServerActionName, permission: string) => ({
  action,
  permission,
  why: (view: View, server: Server) => whyNot(view, server, action, permission),
});

function power(action: "start" | "shutdown" | "reboot" | "stop"): ServerAct {
  return {
    ...asked(action, "server:update"),
    called: (id) => ({ operation: "powerServer", path: { server_id: id }, body: { action } }),
    ask: (api, id, key) =>
      attempt(api.POST("/servers/{server_id}/power", { ...optionsOf(id, key), body: { action } })),
  };
}

/** What can be asked of several servers at once. */
export const selectedServerActs = {
  start: power("start"),
  shutdown: power("shutdown"),
  reboot: power("reboot"),
  stop: { ...power("stop"), isDanger: true },
  delete: {
    ...asked("delete", "server:delete"),
    isDanger: true,
    isTyped: true,
    called: (id) => ({ operation: "deleteServer", path: { server_id: id } }),
    ask: (api, id, key) => attempt(api.DELETE("/servers/{server_id}", optionsOf(id, key))),
  },
  restore: {
    ...asked("cancel_deletion", "server:delete"),
    called: (id) => ({ operation: "cancelServerDeletion", path: { server_id: id } }),
    ask: (api, id, key) => attempt(api.POST("/servers/{server_id}/cancel-deletion", optionsOf(id, key))),
  },
} as const satisfies Readonly<Record<string, ServerAct>>;

export type SelectedServerAct = keyof typeof selectedServerActs;

export const selectedServers: SelectedKind<Server, SelectedServerAct> = {
  page: "/servers",
  section: "servers",
  prefix: "srv_",
  acts: selectedServerActs,
  texts: ({ selectionKinds }) => selectionKinds.servers,
  read: (api, id) => readOrNull(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } })),
  nameOf: ({ id, name }) => ({ id, name }),
  pathOf: (id) => `/servers/${id}`,
  state: ({ messages }, { status }) => (
    <Status tone={serverTone(status)}>{messages.servers.status[status] ?? status}</Status>
  ),
};
