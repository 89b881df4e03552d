import { operations } from "@kule/contract/generated/operations";
import type { OperationId, Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { operationAct, type SelectedAction, type SelectedKind } from "../selected/kind.ts";
import { disabledReason, type ServerActionName } from "./disabled-reason.ts";
import { servers } from "./resource.ts";
import { serverTone } from "./status.ts";

type Server = Schemas["Server"];
type ServerAct = SelectedAction<Server> & { readonly action: ServerActionName };

/** Why the server's state or the role prevents the action. */
function act(action: ServerActionName, operation: OperationId, body?: object): ServerAct {
  const why = (view: View, server: Server) =>
    disabledReason(view, server, action, operations[operation].permission);
  return { ...operationAct(servers, operation, why, body), action };
}

const power = (action: "start" | "shutdown" | "reboot" | "stop") => act(action, "powerServer", { action });

/** The actions for several servers at once. */
export const selectedServerActions = {
  start: power("start"),
  shutdown: power("shutdown"),
  reboot: power("reboot"),
  stop: { ...power("stop"), isDanger: true },
  delete: { ...act("delete", "deleteServer"), isDanger: true, isTyped: true },
  restore: act("cancel_deletion", "cancelServerDeletion"),
} as const satisfies Readonly<Record<string, ServerAct>>;

export type SelectedServerAction = keyof typeof selectedServerActions;

export const selectedServers: SelectedKind<Server, SelectedServerAction> = {
  resource: servers,
  acts: selectedServerActions,
  texts: ({ selectionKinds }) => selectionKinds.servers,
  state: ({ messages }, { status }) => (
    <Status tone={serverTone(status)}>{messages.servers.status[status] ?? status}</Status>
  ),
};
