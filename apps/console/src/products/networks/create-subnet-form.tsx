import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { CreateSubnetPageProps } from "./props.ts";

const tiers = ["app", "mgmt", "data"] as const;

/** The form of a new subnet of one network. */
export function CreateSubnet({ view, network, form, idempotencyKey }: CreateSubnetPageProps) {
  const { messages } = view;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action={`/networks/${network.id}/subnets/new`}>
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={messages.common.name}
        value={form?.values.name ?? ""}
        problems={problems}
        autofocus={form === null}
        required
        mono
        maxlength={63}
      />
      <fieldset class="choice">
        <legend>{messages.networks.tier}</legend>
        <Problem name="tier" problems={problems.tier} />
        <div class="checks">
          {tiers.map((tier) => (
            <label class="check">
              <input type="radio" name="tier" value={tier} checked={(form?.values.tier ?? "app") === tier} />
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
        name="cidr"
        label={messages.networks.cidr}
        value={form?.values.cidr ?? ""}
        hint={messages.networks.cidrHint}
        problems={problems}
        optional
        mono
        maxlength={18}
      />
      <MoreFields view={view} id="more-subnet" form={form} fields={["dns_servers", "labels"]}>
        <TextField
          view={view}
          name="dns_servers"
          label={messages.network.dns}
          value={form?.values.dns_servers ?? ""}
          hint={messages.network.dnsHint}
          problems={problems}
          optional
          mono
          maxlength={60}
        />
        <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {messages.networks.createSubnet}
      </button>
    </form>
  );
}
