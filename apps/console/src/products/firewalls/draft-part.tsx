import type { Child } from "hono/jsx";
import type { RulesPageProps } from "./props.ts";

/** Changes the rows: in place with a script, by a page of its own without one. */
export function DraftButton(
  props: Pick<RulesPageProps, "firewall"> & {
    readonly id?: string;
    readonly intent: string;
    readonly class: string;
    readonly label?: string;
    readonly disabled?: boolean;
    readonly autofocus?: boolean;
    readonly children?: Child;
  },
) {
  const address = `/firewalls/${props.firewall.id}/rules/draft`;
  return (
    <button
      id={props.id}
      type="submit"
      class={props.class}
      name="intent"
      value={props.intent}
      formaction={address}
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled}
      autofocus={props.autofocus}
      hx-post={address}
      hx-target="#rules-form"
      hx-select="#rules-form"
      hx-swap="outerSync"
      hx-validate="false"
    >
      {props.children}
    </button>
  );
}
