import type { Schemas } from "@kule/contract/schemas";
import { ActButton } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import type { NetworkPageProps } from "./show-page.tsx";

type Props = NetworkPageProps & {
  readonly subnet: Schemas["Subnet"];
  /** Names of those that are in it. */
  readonly servers: readonly string[];
};

/** Name and name servers of a subnet, and its deletion. Fields carry the subnet's id: several of these are on a page. */
export function SubnetActs(props: Props) {
  const { view, network, subnet, idempotencyKey } = props;
  const { messages, session } = view;
  const text = messages.network;
  const changed = refusedForm(props.form, `subnet-${subnet.id}`);
  const deleted = refusedForm(props.form, `delete-${subnet.id}`);
  const named = (field: string) => `${field}-${subnet.id}`;
  const problems = Object.fromEntries(
    Object.entries(changed?.problems ?? noProblems).map(([field, texts]) => [named(field), texts]),
  );
  const why =
    session !== null && !may(session, "network:update") ? messages.common.notAllowed("network:update") : null;
  const notDeletable = whyNotDeletable(props);
  const isOpen = changed !== null || deleted !== null;
  return (
    <details
      class="add-inline"
      id={`acts-${subnet.id}`}
      open={isOpen}
      {...(isOpen ? { "hx-morph-skip": "" } : {})}
    >
      <summary>
        <Icon name="pencil" size={15} />
        {text.editSubnet(subnet.name)}
      </summary>
      <div class="subnet-acts">
        <form class="form" method="post" action={`/networks/${network.id}/subnets/${subnet.id}/settings`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${subnet.id}`} />
          <TextField
            view={view}
            name={named("name")}
            label={messages.common.name}
            value={changed?.values.name ?? subnet.name}
            problems={problems}
            required
            mono
            maxlength={63}
          />
          <TextField
            view={view}
            name={named("dns_servers")}
            label={text.dns}
            value={changed?.values.dns_servers ?? subnet.dns_servers.join(", ")}
            hint={text.dnsHint}
            problems={problems}
            optional
            mono
            maxlength={60}
          />
          <ActButton why={why}>{messages.common.save}</ActButton>
        </form>
        <form class="danger-row" method="post" action={`/networks/${network.id}/subnets/${subnet.id}/delete`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete-${subnet.id}`} />
          <div>
            <h3>{text.deleteSubnet(subnet.name)}</h3>
            <p class="hint">{text.subnetDeleteLead}</p>
            {notDeletable === null ? (
              <ConfirmName
                view={view}
                id={`confirm-${subnet.id}`}
                name={subnet.name}
                typed={deleted?.values.confirm_name ?? ""}
                problems={deleted?.problems.confirm_name}
              />
            ) : null}
          </div>
          <ActButton why={notDeletable} kind="danger" label={text.deleteSubnet(subnet.name)}>
            {text.deleteSubnetShort}
          </ActButton>
        </form>
      </div>
    </details>
  );
}

/** What is known before anybody asks. */
function whyNotDeletable({ view, servers, subnet }: Props): string | null {
  const { messages, session } = view;
  if (session !== null && !may(session, "network:delete"))
    return messages.common.notAllowed("network:delete");
  const reserved = subnet.usage.addresses_reserved;
  if (servers.length === 0) return reserved === 0 ? null : messages.subnet.subnetReserves(reserved);
  const some = servers.slice(0, 5).join(", ");
  const more = servers.length > 5 ? ` ${messages.networkMap.more(servers.length - 5)}` : "";
  return messages.network.subnetHasServers(`${some}${more}`);
}
