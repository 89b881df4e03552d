import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";

type ActionState = Schemas["ActionState"];

/** Why an act is not on offer, in the page's language; null when it is. */
export function whyNot(view: View, action: ActionState, permission: string): string | null {
  const { messages, session } = view;
  if (session !== null && !may(session, permission)) return messages.common.notAllowed(permission);
  if (action.allowed) return null;
  if (messages.locale === "en" && action.reason !== null) return action.reason;
  return (
    messages.servers.reasons[action.code ?? ""] ??
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
  readonly children?: unknown;
}) {
  const { why, kind, name, value } = props;
  return (
    <div class="act">
      <button type="submit" class="button" data-kind={kind} name={name} value={value} disabled={why !== null}>
        {props.children as string}
      </button>
      {why === null ? null : <p class="why">{why}</p>}
    </div>
  );
}
