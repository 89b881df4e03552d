import type { Schemas } from "@kule/contract/schemas";
import { ApiCall } from "../../layout/api-call-part.tsx";
import { noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { ListQuery } from "../../layout/list-query.ts";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { type RefusedForm, refusedForm } from "../../refused-form.ts";

export type NetworksPageProps = {
  readonly view: View;
  readonly networks: Schemas["NetworkList"];
  readonly subnets: ReadonlyMap<string, readonly Schemas["Subnet"][]>;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly query: ListQuery;
  /** What is wrong with the label selector. */
  readonly selectorProblem: string | null;
  /** Of `network`, or of the network's id for its subnet form. */
  readonly form: RefusedForm | null;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

const tiers = ["app", "mgmt", "data"] as const;

/** On the page of all networks and on the network's own. */
export function CreateSubnet(
  props: Pick<NetworksPageProps, "view" | "form" | "idempotencyKey"> & {
    readonly network: Schemas["Network"];
    /** Where no list of the page's calls has it. */
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

export function CreateNetwork(props: NetworksPageProps) {
  const { view, regions } = props;
  const { messages } = view;
  const form = refusedForm(props.form, "network");
  const problems = form?.problems ?? noProblems;
  return (
    <section class="panel" aria-labelledby="create-title">
      <div class="panel-head">
        <h2 id="create-title">{messages.networks.create}</h2>
      </div>
      <form class="form" method="post" action="/networks">
        <FormSeal view={view} idempotencyKey={props.idempotencyKey} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={form?.values.name ?? ""}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <div class="field">
          <label for="field-region">{messages.common.region}</label>
          <select id="field-region" name="region">
            {regions.map((region) => (
              <option value={region.slug} selected={form?.values.region === region.slug}>
                {region.name}
              </option>
            ))}
          </select>
          <Problem name="region" problems={problems.region} />
        </div>
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
        <TextField
          view={view}
          name="description"
          label={messages.common.description}
          value={form?.values.description ?? ""}
          problems={problems}
          optional
          maxlength={500}
        />
        <MoreFields view={view} id="more-network" form={form} fields={["labels"]}>
          <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
        </MoreFields>
        <button type="submit" class="button" data-kind="primary">
          {messages.networks.create}
        </button>
      </form>
      <ApiCall
        view={view}
        id="create-call"
        operation="createNetwork"
        body={{ name: "office", region: regions[0]?.slug ?? "ist1", labels: { env: "prod" } }}
      />
    </section>
  );
}
