import type { Schemas } from "@kule/contract/schemas";
import { ActionButton, Offered, reasonOf } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { Copyable, FormSeal, Status } from "../../layout/parts.tsx";
import { may } from "../../session.ts";
import { publicIpTones } from "../public-ips/status.ts";
import { isOwn } from "./disabled-reason.ts";
import type { NetworkTabProps } from "./props.ts";

/** The public addresses of a server, and the forms that add and release one. */
export function ServerAddresses(props: NetworkTabProps) {
  const { view, server } = props;
  const text = view.messages.publicIps;
  return (
    <section class="panel" id="public-ips" aria-labelledby="public-ips-title">
      <div class="panel-head">
        <h2 id="public-ips-title">{text.title}</h2>
        <a href="/public-ips">{text.all}</a>
      </div>
      {server.public_ips.length === 0 ? <p class="hint">{text.none}</p> : null}
      {server.public_ips.map((ip) => (
        <AttachedAddress {...props} ip={ip} />
      ))}
      {server.deletion === null && isOwn(server) ? (
        <Offered view={view} permission="public_ip:update">
          <AttachAddress {...props} />
        </Offered>
      ) : null}
    </section>
  );
}

function AttachedAddress(props: NetworkTabProps & { readonly ip: Schemas["Server"]["public_ips"][number] }) {
  const { view, server, ip, idempotencyKey } = props;
  const text = view.messages.publicIps;
  const known = props.publicIps.find(({ id }) => id === ip.id);
  const why = known === undefined ? null : reasonOf(view, known.actions.detach);
  return (
    <div class="address-row">
      <div>
        <Copyable view={view} id={`public-${ip.id}`} text={ip.address} />
        <p class="hint">
          <a href={`/public-ips/${ip.id}`}>
            <Status tone={ip.requires_reboot ? "warning" : publicIpTones[ip.status]}>
              {text.status[ip.status]}
            </Status>
          </a>
          {known?.ptr == null ? null : <span class="mono"> · {known.ptr}</span>}
        </p>
        {ip.requires_reboot ? <p class="hint">{text.requiresReboot}</p> : null}
      </div>
      {isOwn(server) ? (
        <Offered view={view} permission="public_ip:update">
          <form method="post" action={`/servers/${server.id}/detach-address`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-detach-${ip.id}`} />
            <input type="hidden" name="public_ip_id" value={ip.id} />
            <ActionButton why={why} label={text.detachNamed(ip.address)}>
              {text.detach}
            </ActionButton>
          </form>
        </Offered>
      ) : null}
    </div>
  );
}

/** A server has at most one address of each version; the free ones of its region can be attached. */
function AttachAddress(props: NetworkTabProps) {
  const { view, server, publicIps, idempotencyKey } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const missing = ([4, 6] as const).filter((version) =>
    server.public_ips.every((ip) => ip.version !== version),
  );
  if (missing.length === 0) return null;
  const free = publicIps.filter(
    (ip) => ip.region === server.region && ip.attached_to === null && missing.includes(ip.version),
  );
  const why = whyNoAddress(props);
  const mayTake = session === null || may(session, "public_ip:create");
  return (
    <div class="address-acts">
      {free.length === 0 ? null : (
        <form class="label-row" method="post" action={`/servers/${server.id}/attach-address`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-attach`} />
          <div class="field">
            <label for="attach-address">{text.attachOne}</label>
            <select id="attach-address" name="public_ip_id" disabled={why !== null}>
              {free.map(({ id, address }) => (
                <option value={id}>{address}</option>
              ))}
            </select>
          </div>
          <ActionButton why={null} label={text.attachOne}>
            {text.attach}
          </ActionButton>
        </form>
      )}
      {mayTake
        ? missing.map((version) => (
            <form method="post" action={`/servers/${server.id}/take-address`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-take-${version}`} />
              <input type="hidden" name="version" value={version} />
              <button type="submit" class="button" disabled={why !== null}>
                <Icon name="plus" size={16} />
                {text.takeFor(`IPv${version}`)}
              </button>
            </form>
          ))
        : null}
      <p class="hint">{why ?? text.attachHint}</p>
    </div>
  );
}

/** What the page knows without a request; the API reports all other reasons in its answer. */
function whyNoAddress({ view, server, networks }: NetworkTabProps): string | null {
  const { messages } = view;
  if (server.locked !== null) return messages.operations.locked(server.locked.reason);
  const isInDataTier = server.interfaces.some(({ primary, network_id, subnet_id }) => {
    const subnets = networks.find(({ id }) => id === network_id)?.subnets ?? [];
    return primary && subnets.find(({ id }) => id === subnet_id)?.tier === "data";
  });
  if (isInDataTier) return messages.publicIps.dataTier;
  return server.status === "running" || server.status === "stopped"
    ? null
    : messages.operations.notWhile(messages.servers.status[server.status] ?? server.status);
}
