import { ActButton } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { FirewallPageProps } from "./show-page.tsx";

/** Deletion, or what stands in its way. */
export function DeleteFirewall(props: FirewallPageProps) {
  const { view, firewall, idempotencyKey } = props;
  const text = view.messages.firewalls;
  const form = refusedForm(props.form, "delete");
  const why = whyNot(props);
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{text.danger}</h2>
      </div>
      <form class="danger-row" id="delete" method="post" action={`/firewalls/${firewall.id}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <h3>{text.delete}</h3>
          <p class="hint">{text.deleteLead}</p>
          {why === null ? (
            <ConfirmName
              view={view}
              id="confirm-name"
              name={firewall.name}
              typed={form?.values.confirm_name ?? ""}
              problems={form?.problems.confirm_name}
            />
          ) : null}
        </div>
        <ActButton why={why} kind="danger">
          {text.delete}
        </ActButton>
      </form>
    </section>
  );
}

/** What is known before anybody asks. */
function whyNot({ view, firewall, places }: FirewallPageProps): string | null {
  const { messages } = view;
  if (firewall.attachments.length > 0) return messages.firewalls.deleteAttached;
  const isNamed = places.firewalls.some(
    (other) =>
      other.id !== firewall.id &&
      other.rules.some(({ peers }) => peers.some(({ firewall_id }) => firewall_id === firewall.id)),
  );
  return isNamed ? messages.firewalls.deleteNamed : null;
}
