import { ActButton, notAllowed } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import type { SubnetPageProps } from "./subnet-page.tsx";

/** Deletion, or what stands in its way. */
export function DeleteSubnet(props: SubnetPageProps) {
  const { view, network, subnet, form, idempotencyKey } = props;
  const text = view.messages.network;
  const why = whyNotDeletable(props);
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{text.danger}</h2>
      </div>
      <form
        class="danger-row"
        id="delete"
        method="post"
        action={`/networks/${network.id}/subnets/${subnet.id}/delete`}
        {...keptForm(form, "delete")}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
        <div>
          <h3>{text.deleteSubnet(subnet.name)}</h3>
          <p class="hint">{text.subnetDeleteLead}</p>
          {why === null ? (
            <ConfirmName
              view={view}
              id="confirm-name"
              name={subnet.name}
              typed={typedIn(form, "delete", "confirm_name", "")}
              problems={problemsOf(form, "delete").confirm_name}
            />
          ) : null}
        </div>
        <ActButton why={why} kind="danger">
          {text.deleteSubnetShort}
        </ActButton>
      </form>
    </section>
  );
}

/** What is known before anybody asks. */
function whyNotDeletable({ view, subnet }: SubnetPageProps): string | null {
  const { messages, format } = view;
  const { addresses_used: used, addresses_reserved: reserved } = subnet.usage;
  if (subnet.status === "deleting") return messages.networks.status.deleting;
  return (
    notAllowed(view, "network:delete") ??
    (used > 0
      ? messages.network.subnetHasServers(format.number(used))
      : reserved > 0
        ? messages.subnet.subnetReserves(reserved)
        : null)
  );
}
