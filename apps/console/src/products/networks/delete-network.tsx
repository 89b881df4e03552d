import { ActButton } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { NetworkPageProps } from "./show-page.tsx";
import { whyNotDeleteNetwork } from "./why-not.ts";

/** Deletion, or what stands in its way. */
export function DeleteNetwork(props: NetworkPageProps) {
  const { view, network, subnets, idempotencyKey } = props;
  const text = view.messages.network;
  const form = refusedForm(props.form, "delete");
  const why = whyNotDeleteNetwork(view, subnets);
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{text.danger}</h2>
      </div>
      <form class="danger-row" id="delete" method="post" action={`/networks/${network.id}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <h3>{text.delete}</h3>
          <p class="hint">{text.deleteLead}</p>
          {why === null ? (
            <ConfirmName
              view={view}
              id="confirm-name"
              name={network.name}
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
