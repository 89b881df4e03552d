import type { Schemas } from "@kule/contract/schemas";
import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { Problem } from "../../layout/fields.tsx";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { Places } from "./places.ts";
import type { OverviewProps } from "./props.ts";

type Attachment = Schemas["FirewallAttachment"];

export const attachmentTones = {
  applied: "good",
  pending: "busy",
  failed: "bad",
} as const satisfies Record<Attachment["status"], Tone>;

/** The target of an attachment, as text. */
export function targetText({ name, server_id, subnet_id, label_selector }: Attachment): string {
  // Without a name it may not be seen: then its identifier is all that there is.
  return label_selector ?? name ?? server_id ?? subnet_id ?? "";
}

/** The attachments of the firewall, and the forms that add and remove one. */
export function Attachments(props: OverviewProps) {
  const { view, firewall, places, idempotencyKey } = props;
  const text = view.messages.firewalls.attachments;
  return (
    <section class="panel" id="attachments" aria-labelledby="attachments-title">
      <div class="panel-head">
        <h2 id="attachments-title">{text.title}</h2>
      </div>
      {firewall.attachments.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.what}</th>
              <th scope="col">{text.servers}</th>
              <th scope="col">{text.state}</th>
              <th scope="col">{view.messages.common.created}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {firewall.attachments.map((attachment) => {
              const what = targetText(attachment);
              return (
                <tr id={attachment.id} data-tone={attachmentTones[attachment.status]}>
                  <th scope="row">
                    <Target attachment={attachment} places={places} />
                  </th>
                  <td class="figures" data-label={text.servers}>
                    {view.format.number(attachment.servers)}
                  </td>
                  <td data-label={text.state}>
                    <Status tone={attachmentTones[attachment.status]}>
                      {text.states[attachment.status]}
                    </Status>
                  </td>
                  <td data-label={view.messages.common.created}>
                    <When view={view} time={attachment.created_at} />
                  </td>
                  <td class="row-act">
                    <Offered view={view} permission="firewall:update">
                      <form method="post" action={`/firewalls/${firewall.id}/detach`}>
                        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-detach-${attachment.id}`} />
                        <input type="hidden" name="attachment_id" value={attachment.id} />
                        <ActionButton why={null} label={text.detachNamed(what)}>
                          {text.detach}
                        </ActionButton>
                      </form>
                    </Offered>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {firewall.attachments.some(({ status }) => status === "failed") ? (
        <p class="hint">{text.failedHint}</p>
      ) : null}
      <Offered view={view} permission="firewall:update">
        <AttachForm {...props} />
        <ApplyForm {...props} />
      </Offered>
    </section>
  );
}

/** Corrects manual changes in the region and retries what has failed. */
function ApplyForm(props: OverviewProps) {
  const { view, firewall, idempotencyKey } = props;
  const text = view.messages.firewalls.attachments;
  const isNowhere = firewall.attachments.every(({ servers }) => servers === 0);
  const why = isNowhere ? text.applyNone : null;
  return (
    <form class="row-form" id="apply" method="post" action={`/firewalls/${firewall.id}/apply`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-apply`} />
      <p class="hint">{text.applyHint}</p>
      <ActionButton why={why}>{text.apply}</ActionButton>
    </form>
  );
}

function Target({ attachment, places }: { readonly attachment: Attachment; readonly places: Places }) {
  const what = targetText(attachment);
  if (attachment.server_id !== null) return <a href={`/servers/${attachment.server_id}`}>{what}</a>;
  if (attachment.subnet_id !== null) {
    const network = places.networks.find(({ subnets }) =>
      subnets.some(({ id }) => id === attachment.subnet_id),
    );
    return (
      <a href={network === undefined ? "/networks" : `/networks/${network.id}#${attachment.subnet_id}`}>
        {what}
      </a>
    );
  }
  return (
    <a class="tag mono" href={`/servers?${new URLSearchParams({ labels: what })}`}>
      {what}
    </a>
  );
}

function AttachForm(props: OverviewProps) {
  const { view, firewall, places, idempotencyKey } = props;
  const text = view.messages.firewalls.attachments;
  const form = refusedForm(props.form, "attach");
  const typed = form?.values ?? {};
  const isWrong = form?.problems.target !== undefined;
  const attached = new Set(
    firewall.attachments.flatMap(({ server_id, subnet_id }) => [server_id, subnet_id]),
  );
  const option = (value: string, label: string) => (
    <option value={value} selected={typed.target === value}>
      {label}
    </option>
  );
  const subnets = places.networks.flatMap((network) =>
    network.subnets.filter(({ id }) => !attached.has(id)).map((subnet) => ({ network, subnet })),
  );
  const servers = places.servers.filter(({ id }) => !attached.has(id));
  return (
    <form
      id="attach-form"
      class="label-row target-row"
      method="post"
      action={`/firewalls/${firewall.id}/attach`}
      {...(form === null ? {} : { "hx-morph-skip": "" })}
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-attach`} />
      <div class="field" data-invalid={isWrong ? "true" : undefined}>
        <label for="attach-target">{text.target}</label>
        <select
          id="attach-target"
          name="target"
          aria-invalid={isWrong ? "true" : undefined}
          aria-describedby={isWrong ? "attach-problem" : undefined}
        >
          {option("", view.messages.firewalls.peer.choose)}
          {option("labels", text.labelsOption)}
          {subnets.length === 0 ? null : (
            <optgroup label={view.messages.firewalls.peer.subnets}>
              {subnets.map(({ network, subnet }) => option(subnet.id, `${network.name}/${subnet.name}`))}
            </optgroup>
          )}
          {servers.length === 0 ? null : (
            <optgroup label={view.messages.servers.title}>
              {servers.map(({ id, name }) => option(id, name))}
            </optgroup>
          )}
        </select>
        <Problem name="attach" problems={form?.problems.target} />
      </div>
      <div class="field target-text">
        <label for="attach-selector">{text.selector}</label>
        <input
          id="attach-selector"
          class="mono"
          type="text"
          name="selector"
          value={typed.selector ?? ""}
          placeholder="role=web"
          maxlength={1000}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          aria-describedby="attach-hint"
        />
      </div>
      <ActionButton why={null}>{text.attach}</ActionButton>
      <p class="hint target-text" id="attach-hint">
        {text.selectorHint}
      </p>
    </form>
  );
}
