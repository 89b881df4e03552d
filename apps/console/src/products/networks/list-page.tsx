import type { Schemas } from "@kule/contract/schemas";
import { type FieldProblems, noProblems, Problem, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { Banner, EmptyState, FormSeal, PageHead, Pages, Status, type Tone } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";

export type NetworkFormState = {
  /** `network`, or the network's id for its subnet form: which form the problems belong to. */
  readonly of: string;
  readonly values: Readonly<Record<string, string>>;
  readonly problems: FieldProblems;
};

type Props = {
  readonly view: View;
  readonly networks: Schemas["NetworkList"];
  readonly subnets: ReadonlyMap<string, readonly Schemas["Subnet"][]>;
  readonly regions: readonly Schemas["CatalogRegion"][];
  readonly cursor: string | undefined;
  readonly form: NetworkFormState | null;
  readonly banner: { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;
  readonly idempotencyKey: string;
};

const tiers = ["app", "mgmt", "data"] as const;
const tones = {
  provisioning: "busy",
  active: "good",
  updating: "busy",
  deleting: "busy",
  error: "bad",
} as const satisfies Record<Schemas["NetworkStatus"], Tone>;

export function NetworksPage(props: Props) {
  const { view, networks, banner } = props;
  const { messages, session } = view;
  const mayCreate = session === null || may(session, "network:create");
  return (
    <Shell view={view} title={messages.networks.title} section="networks">
      <PageHead title={messages.networks.title} lead={messages.networks.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      {networks.items.length === 0 ? (
        <EmptyState title={messages.networks.empty} hint={messages.networks.emptyHint} />
      ) : (
        networks.items.map((network) => <NetworkPanel {...props} network={network} mayCreate={mayCreate} />)
      )}
      <Pages
        view={view}
        base="/networks"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={networks.next_cursor}
      />
      {mayCreate ? (
        <CreateNetwork {...props} />
      ) : (
        <p class="hint">{messages.common.notAllowed("network:create")}</p>
      )}
    </Shell>
  );
}

function NetworkPanel(props: Props & { readonly network: Schemas["Network"]; readonly mayCreate: boolean }) {
  const { view, network } = props;
  const { messages, format } = view;
  const subnets = props.subnets.get(network.id) ?? [];
  return (
    <section class="panel" id={network.id} aria-labelledby={`title-${network.id}`}>
      <div class="panel-head">
        <h2 id={`title-${network.id}`}>
          {network.name}{" "}
          {network.is_default && network.name !== messages.networks.default ? (
            <span class="tag">{messages.networks.default}</span>
          ) : null}
        </h2>
        <Status tone={tones[network.status]}>{messages.networks.status[network.status]}</Status>
      </div>
      <p class="panel-lead">
        <span class="mono">{network.cidr}</span> · {network.region}
        {network.description === "" ? null : ` · ${network.description}`}
      </p>
      {subnets.length === 0 ? (
        <p class="hint">{messages.networks.noSubnets}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{`${messages.networks.subnets}: ${network.name}`}</caption>
          <thead>
            <tr>
              <th scope="col">{messages.servers.subnet}</th>
              <th scope="col">{messages.networks.tier}</th>
              <th scope="col">{messages.networks.cidr}</th>
              <th scope="col">{messages.networks.gateway}</th>
              <th scope="col">{messages.networks.egressLabel}</th>
              <th scope="col">{messages.networks.usage}</th>
            </tr>
          </thead>
          <tbody>
            {subnets.map((subnet) => (
              <tr id={subnet.id}>
                <th scope="row">{subnet.name}</th>
                <td data-label={messages.networks.tier}>
                  <span class="tag">{messages.networks.tiers[subnet.tier]}</span>
                </td>
                <td class="mono" data-label={messages.networks.cidr}>
                  {subnet.cidr}
                </td>
                <td class="mono" data-label={messages.networks.gateway}>
                  {subnet.gateway_ip}
                </td>
                <td data-label={messages.networks.egressLabel}>{messages.networks.egress[subnet.egress]}</td>
                <td class="figures" data-label={messages.networks.usage}>
                  {messages.networks.usageOf(
                    format.number(subnet.usage.addresses_used),
                    format.number(subnet.usage.addresses_total),
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {props.mayCreate ? <CreateSubnet {...props} /> : null}
    </section>
  );
}

function CreateSubnet(props: Props & { readonly network: Schemas["Network"] }) {
  const { view, network } = props;
  const { messages } = view;
  const form = props.form?.of === network.id ? props.form : null;
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
        <button type="submit" class="button" data-kind="primary">
          {messages.networks.createSubnet}
        </button>
      </form>
    </details>
  );
}

function CreateNetwork(props: Props) {
  const { view, regions } = props;
  const { messages } = view;
  const form = props.form?.of === "network" ? props.form : null;
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
          label={messages.networks.description}
          value={form?.values.description ?? ""}
          problems={problems}
          optional
          maxlength={500}
        />
        <button type="submit" class="button" data-kind="primary">
          {messages.networks.create}
        </button>
      </form>
    </section>
  );
}
