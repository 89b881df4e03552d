import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";

type Server = Schemas["Server"];
export type ServerActionName = keyof Server["actions"];
type ActionState = Schemas["ActionState"];

/** Why an act is not on offer, in the page's language; null when it is. */
export function whyNot(
  view: View,
  server: Pick<Server, "actions" | "status" | "job_id" | "locked">,
  name: ServerActionName,
  permission: string,
): string | null {
  const { messages, session } = view;
  if (session !== null && !may(session, permission)) return messages.common.notAllowed(permission);
  const action = server.actions[name];
  if (action === undefined || action.allowed) return null;
  const texts = messages.servers;
  // English shows the API's own words, which know more; other languages say it from what they know themselves.
  if (messages.locale === "en" && action.reason !== null) return action.reason;
  if (action.code === "locked" && server.locked !== null)
    return messages.operations.locked(server.locked.reason);
  if (action.code === "protected" && name === "rebuild") return messages.operations.rebuildProtected;
  if (action.code === "invalid_state" && server.job_id !== null) return messages.operations.openJob;
  if (action.code === "invalid_state")
    return messages.operations.notWhile(texts.status[server.status] ?? server.status);
  return reasonOf(view, action);
}

/** Why an act is not on offer, by its code alone. */
export function reasonOf({ messages }: View, action: ActionState): string | null {
  if (action.allowed) return null;
  if (messages.locale === "en" && action.reason !== null) return action.reason;
  const code = action.code ?? "";
  return (
    messages.servers.reasons[code] ??
    messages.conflicts[code] ??
    action.reason ??
    messages.servers.reasons.invalid_state ??
    ""
  );
}

/** A button, or the same button greyed out with the reason in words beside it. */
export function ActButton(props: {
  readonly why: string | null;
  readonly kind?: "primary" | "danger";
  readonly name?: string;
  readonly value?: string;
  readonly label?: string;
  readonly children?: Child;
}) {
  const { why, kind, name, value, label } = props;
  return (
    <div class="act">
      <button
        type="submit"
        class="button"
        data-kind={kind}
        name={name}
        value={value}
        aria-label={label}
        disabled={why !== null}
      >
        {props.children}
      </button>
      {why === null ? null : <p class="why">{why}</p>}
    </div>
  );
}
