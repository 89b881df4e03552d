import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { OverviewProps } from "./props.ts";
import { servedTones } from "./status.ts";

/** The subnets that the gateway serves, and the forms that add and remove one. */
export function ServedSubnets(props: OverviewProps) {
  const { view, gateway, network, forwards, servers, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.gateways.served;
  const notChangeable = disabledReason(props, null);
  const left = network.subnets.filter(
    ({ id, tier }) => tier !== "data" && !gateway.subnets.some(({ subnet_id }) => subnet_id === id),
  );
  /** A forward's answers leave by the gateway, so its subnet cannot be removed. */
  const isForwardedInto = (subnetId: string) =>
    forwards.some(({ server_id, status }) => {
      const server = servers.find(({ id }) => id === server_id);
      return status !== "deleting" && server?.interfaces.some((nic) => nic.subnet_id === subnetId);
    });
  return (
    <section class="panel" id="served" aria-labelledby="served-title">
      <div class="panel-head">
        <h2 id="served-title">{text.title}</h2>
      </div>
      {gateway.subnets.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{messages.servers.subnet}</th>
              <th scope="col">{messages.networks.cidr}</th>
              <th scope="col">{messages.common.status}</th>
              <td />
            </tr>
          </thead>
          <tbody>
            {gateway.subnets.map(({ subnet_id, name, cidr, status }) => (
              <tr id={subnet_id} data-tone={servedTones[status]}>
                <th scope="row">
                  <a href={`/networks/${gateway.network_id}#${subnet_id}`}>{name}</a>
                </th>
                <td class="mono" data-label={messages.networks.cidr}>
                  {cidr}
                </td>
                <td data-label={messages.common.status}>
                  <Status tone={servedTones[status]}>{text.states[status]}</Status>
                </td>
                <td class="row-act">
                  <Offered view={view} permission="gateway:update">
                    <form method="post" action={`/gateways/${gateway.id}/unserve`}>
                      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-unserve-${subnet_id}`} />
                      <input type="hidden" name="subnet_id" value={subnet_id} />
                      <ActionButton
                        why={
                          status === "detaching" && gateway.job_id !== null
                            ? text.states.detaching
                            : (notChangeable ?? (isForwardedInto(subnet_id) ? text.forwardsInto : null))
                        }
                        label={text.detachNamed(name)}
                      >
                        {text.detach}
                      </ActionButton>
                    </form>
                  </Offered>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {left.length === 0 ? (
        <p class="hint">{text.noneLeft}</p>
      ) : (
        <Offered view={view} permission="gateway:update">
          <form class="label-row target-row" method="post" action={`/gateways/${gateway.id}/serve`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-serve`} />
            <div class="field">
              <label for="serve-subnet">{text.target}</label>
              <select id="serve-subnet" name="subnet_id">
                {left.map(({ id, name, cidr }) => (
                  <option value={id}>{`${name} · ${cidr}`}</option>
                ))}
              </select>
            </div>
            <ActionButton why={disabledReason(props, "attach_subnet")}>{text.attach}</ActionButton>
          </form>
        </Offered>
      )}
    </section>
  );
}
