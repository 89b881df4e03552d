import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, reasonOf } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";

type Server = Schemas["Server"];
export type ServerActionName = keyof Server["actions"];

/** Whether the server is the customer's own: what a load balancer or a cluster runs on is changed there. */
export const isOwn = ({ managed_by }: Pick<Server, "managed_by">): boolean => managed_by === null;

export const managedText = ({ messages }: View, { type, name }: NonNullable<Server["managed_by"]>): string =>
  messages.servers.managedBy[type](name);

/** Why an action is unavailable, in the page's language; null when it is available. */
export function disabledReason(
  view: View,
  server: Pick<Server, "actions" | "status" | "job_id" | "locked" | "managed_by">,
  name: ServerActionName,
  permission: string,
): string | null {
  const forbidden = notAllowed(view, permission);
  if (forbidden !== null) return forbidden;
  const { messages } = view;
  const action = server.actions[name];
  if (action === undefined || action.allowed) return null;
  const texts = messages.servers;
  // English shows the API's own words, which are more precise; other languages derive a text from the code.
  if (messages.locale === "en" && action.reason !== null) return action.reason;
  if (action.code === "managed" && server.managed_by !== null) return managedText(view, server.managed_by);
  if (action.code === "locked" && server.locked !== null)
    return messages.operations.locked(server.locked.reason);
  if (action.code === "protected" && name === "rebuild") return messages.operations.rebuildProtected;
  if (action.code === "invalid_state" && server.job_id !== null) return messages.operations.openJob;
  if (action.code === "invalid_state")
    return messages.operations.notWhile(texts.status[server.status] ?? server.status);
  return reasonOf(view, action);
}
