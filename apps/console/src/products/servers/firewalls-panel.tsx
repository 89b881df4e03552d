import type { Schemas } from "@kule/contract/schemas";
import { parseLabelSelector, selectorMatches } from "@kule/rules/labels/selector";
import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { attachmentTones } from "../firewalls/attachments-panel.tsx";
import { subnetName } from "../firewalls/places.ts";
import { isOwn } from "./disabled-reason.ts";
import type { NetworkTabProps } from "./props.ts";

type Attachment = Schemas["FirewallAttachment"];

/** The firewalls of a server, the attachment that applies each, and the form that attaches another. */
export function ServerFirewalls(props: NetworkTabProps) {
  const { view, server, firewalls } = props;
  const { messages } = view;
  const text = messages.firewalls.ofServer;
  const attached = firewalls.flatMap((firewall) =>
    firewall.attachments
      .filter((attachment) => isMeant(attachment, server))
      .map((attachment) => ({ firewall, attachment })),
  );
  return (
    <section class="panel" id="firewalls" aria-labelledby="firewalls-title">
      <div class="panel-head">
        <h2 id="firewalls-title">{text.title}</h2>
        <a href="/firewalls">{messages.firewalls.all}</a>
      </div>
      {attached.length === 0 ? <p class="hint">{text.none}</p> : null}
      {attached.map(({ firewall, attachment }) => (
        <AttachedFirewall {...props} firewall={firewall} attachment={attachment} />
      ))}
      {server.deletion === null && isOwn(server) ? (
        <Offered view={view} permission="firewall:update">
          <AttachFirewall {...props} attached={attached.map(({ firewall }) => firewall.id)} />
        </Offered>
      ) : null}
    </section>
  );
}

/** Whether the attachment includes the server: by name, by its subnet or by its labels. */
function isMeant(attachment: Attachment, server: Schemas["Server"]): boolean {
  const { server_id, subnet_id, label_selector } = attachment;
  if (server_id !== null) return server_id === server.id;
  if (subnet_id !== null) return server.interfaces.some((nic) => nic.subnet_id === subnet_id);
  // No selector means a managed server.
  if (!isOwn(server)) return false;
  const parsed = parseLabelSelector(label_selector ?? "");
  return parsed.ok && selectorMatches(parsed.terms, server.labels);
}

function AttachedFirewall(
  props: NetworkTabProps & {
    readonly firewall: Schemas["Firewall"];
    readonly attachment: Attachment;
  },
) {
  const { view, server, firewall, attachment, idempotencyKey } = props;
  const text = view.messages.firewalls;
  const { server_id, subnet_id, label_selector } = attachment;
  return (
    <div class="address-row">
      <div>
        <a href={`/firewalls/${firewall.id}`}>
          <strong>{firewall.name}</strong>
        </a>{" "}
        <span class="hint">{text.ruleCount(firewall.rules.length)}</span>
        <p class="hint">
          <Status tone={attachmentTones[attachment.status]}>
            {text.attachments.states[attachment.status]}
          </Status>
          {" · "}
          {server_id !== null
            ? text.ofServer.direct
            : subnet_id !== null
              ? text.ofServer.bySubnet(subnetName(props, subnet_id) ?? subnet_id)
              : text.ofServer.byLabels(label_selector ?? "")}
        </p>
      </div>
      {server_id === null || !isOwn(server) ? null : (
        <Offered view={view} permission="firewall:update">
          <form method="post" action={`/servers/${server.id}/detach-firewall`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-detach-${attachment.id}`} />
            <input type="hidden" name="firewall_id" value={firewall.id} />
            <input type="hidden" name="attachment_id" value={attachment.id} />
            <ActionButton why={null} label={text.attachments.detachNamed(firewall.name)}>
              {text.attachments.detach}
            </ActionButton>
          </form>
        </Offered>
      )}
    </div>
  );
}

function AttachFirewall(props: NetworkTabProps & { readonly attached: readonly string[] }) {
  const { view, server, attached, idempotencyKey } = props;
  const text = view.messages.firewalls;
  const others = props.firewalls.filter(
    ({ id, region }) => region === server.region && !attached.includes(id),
  );
  if (others.length === 0)
    return (
      <p class="hint address-acts">
        {text.ofServer.noneLeft} <a href="/firewalls/new">{text.create}</a>
      </p>
    );
  return (
    <div class="address-acts">
      <form class="label-row" method="post" action={`/servers/${server.id}/attach-firewall`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-attach-firewall`} />
        <div class="field">
          <label for="attach-firewall">{text.ofServer.attach}</label>
          <select id="attach-firewall" name="firewall_id">
            {others.map(({ id, name }) => (
              <option value={id}>{name}</option>
            ))}
          </select>
        </div>
        <ActionButton why={null} label={text.ofServer.attach}>
          {text.attachments.attach}
        </ActionButton>
      </form>
    </div>
  );
}
