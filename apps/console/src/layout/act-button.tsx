import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { may } from "../session.ts";
import type { View } from "./view.ts";

/** Why an act is not on offer, by its code alone. */
export function reasonOf({ messages }: View, action: Schemas["ActionState"]): string | null {
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

/** That the role has no such permission, in words; null when it has it. */
export function notAllowed({ messages, session }: View, permission: string): string | null {
  return session === null || may(session, permission) ? null : messages.common.notAllowed;
}

/** What stands on a page for who may do it. Others are not told of acts that their role will never let them do. */
export function Offered(props: {
  readonly view: View;
  readonly permission: string;
  readonly children?: Child;
}) {
  return notAllowed(props.view, props.permission) === null ? props.children : null;
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
