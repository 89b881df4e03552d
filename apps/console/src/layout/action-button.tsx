import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { may } from "../session.ts";
import type { View } from "./view.ts";

/** The reason why an action is unavailable, by its code alone. */
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

/** The text for a missing permission of the role; null when the role has it. */
export function notAllowed({ messages, session }: View, permission: string): string | null {
  return session === null || may(session, permission) ? null : messages.common.notAllowed;
}

/** Shown only to roles that may do it. Other roles do not see actions that their role never permits. */
export function Offered(props: {
  readonly view: View;
  readonly permission: string;
  readonly children?: Child;
}) {
  return notAllowed(props.view, props.permission) === null ? props.children : null;
}

/** A button, or the same button disabled with the reason as text beside it. */
export function ActionButton(props: {
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
