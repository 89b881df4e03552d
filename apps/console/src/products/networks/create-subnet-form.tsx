import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { NetworksPageProps } from "./props.ts";

export const tiers = ["app", "mgmt", "data"] as const;

/** Used on the page of all networks and on the network's own. */
export function CreateSubnet(
  props: Pick<NetworksPageProps, "view" | "form" | "idempotencyKey"> & {
    readonly network: Schemas["Network"];
    /** Set where no list of the page's calls has it. */
    readonly withCall?: boolean;
  },
) {
  const { view, network } = props;
  const { messages } = view;
  const form = refusedForm(props.form, network.id);
  const problems = form?.problems ?? noProblems;
  const named = (field: string) => `${field}-${network.id}`;
  const renamed = Object.fromEntries(Object.entries(problems).map(([field, texts]) => [named(field), texts]));
  return (
    <details class="add-inline" open={form !== null}>
      <summary>
        <Icon name="plus" size={16} />
        {messages.networks.createSubnet}
      </summary>
      <form class="form" method="post" action={`/networks/${network.id}/subnets`}>
        <FormSeal view={view} idempotencyKey={`${props.idempotencyKey}-${network.id}`} />
        <TextField
          view={view}
          name={named("name")}
          label={messages.common.name}
          value={form?.values.name ?? ""}
          problems={renamed}
          required
          mono
          maxlength={63}
        />
        <fieldset class="choice">
          <legend>{messages.networks.tier}</legend>
          <Problem name={named("tier")} problems={renamed[named("tier")]} />
          <div class="checks">
            {tiers.map((tier) => (
              <label class="check">
                <input
                  type="radio"
                  name="tier"
                  value={tier}
                  checked={(form?.values.tier ?? "app") === tier}
                />
                <span>
                  <strong>{messages.networks.tiers[tier]}</strong>
                  <small>{messages.networks.tierHints[tier]}</small>
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        <TextField
          view={view}
          name={named("cidr")}
          label={messages.networks.cidr}
          value={form?.values.cidr ?? ""}
          hint={messages.networks.cidrHint}
          problems={renamed}
          optional
          mono
          maxlength={18}
        />
        <MoreFields view={view} id={named("more")} form={form} fields={["dns_servers", "labels"]}>
          <TextField
            view={view}
            id={named("dns_servers")}
            name="dns_servers"
            label={messages.network.dns}
            value={form?.values.dns_servers ?? ""}
            hint={messages.network.dnsHint}
            problems={problems}
            optional
            mono
            maxlength={60}
          />
          <LabelsField
            view={view}
            id={named("labels")}
            value={form?.values.labels ?? ""}
            problems={problems}
          />
        </MoreFields>
        <button type="submit" class="button" data-kind="primary">
          {messages.networks.createSubnet}
        </button>
      </form>
      {props.withCall ? (
        <ApiCall
          view={view}
          id={`subnet-call-${network.id}`}
          operation="createSubnet"
          path={{ network_id: network.id }}
          body={{ name: "web", tier: "app", labels: { env: "prod" } }}
        />
      ) : null}
    </details>
  );
}
