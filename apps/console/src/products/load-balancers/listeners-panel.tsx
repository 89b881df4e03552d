import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { OverviewProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { listenerName } from "./status.ts";

/** Where it listens, with what each listener carries now. */
export function Listeners(props: OverviewProps) {
  const { view, balancer, listeners } = props;
  const { messages } = view;
  const text = messages.loadBalancers.listeners;
  return (
    <section class="panel" id="listeners" aria-labelledby="listeners-title">
      <div class="panel-head">
        <h2 id="listeners-title">{text.title}</h2>
        <AddLink {...props} path="listeners" text={text.add} />
      </div>
      {listeners.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.listener}</th>
              <th scope="col">{text.to}</th>
              <th scope="col">{messages.common.status}</th>
              <th scope="col" class="number">
                {text.connections}
              </th>
              <th scope="col" class="number">
                {text.rate}
              </th>
              <th scope="col" class="number">
                {text.errors}
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {listeners.map((listener) => (
              <Row {...props} listener={listener} page={pageOf(loadBalancers, balancer)} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

/** Leads to the page that adds one, for roles that may. */
export function AddLink(
  props: Pick<OverviewProps, "view" | "balancer"> & {
    readonly path: "listeners" | "targets";
    readonly text: string;
  },
) {
  const { view, balancer, path, text } = props;
  if (disabledReason(view, balancer, "change") !== null) return null;
  return (
    <a class="button" href={`${pageOf(loadBalancers, balancer)}/${path}/new`}>
      <Icon name="plus" size={16} />
      {text}
    </a>
  );
}

type Health = Schemas["LoadBalancerHealth"]["listeners"][number];

function Row(props: OverviewProps & { readonly listener: Schemas["Listener"]; readonly page: string }) {
  const { view, balancer, listener, page, health, idempotencyKey } = props;
  const { messages, format } = view;
  const text = messages.loadBalancers.listeners;
  const seen = health.listeners.find(({ listener_id }) => listener_id === listener.id);
  const name = listenerName(view, listener);
  const why = disabledReason(view, balancer, "change");
  const tone = seen?.is_open === true ? "good" : "busy";
  return (
    <tr id={listener.id} data-tone={tone}>
      <th scope="row">{name}</th>
      <td data-label={text.to}>
        {listener.redirect_to_https ? text.redirects : text.portOf(String(listener.target_port))}
      </td>
      <td data-label={messages.common.status}>
        <Status tone={tone}>{tone === "good" ? text.open : text.notOpen}</Status>
      </td>
      <td class="number figures" data-label={text.connections}>
        {seen === undefined ? "–" : format.number(seen.connections)}
      </td>
      <td class="number figures" data-label={text.rate}>
        {seen === undefined ? "–" : rateText(props, listener, seen)}
      </td>
      <td class="number figures" data-label={text.errors}>
        {seen === undefined || !isHttp(listener) ? "–" : format.number(seen.responses[4] ?? 0)}
      </td>
      <td class="row-act">
        <Offered view={view} permission="load_balancer:write">
          <div class="row-buttons">
            <a class="button" href={`${page}/listeners/${listener.id}`} aria-label={text.editNamed(name)}>
              {text.edit}
            </a>
            <form method="post" action={`${page}/listeners/${listener.id}/delete`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove-${listener.id}`} />
              <button
                type="submit"
                class="button"
                aria-label={text.removeNamed(name)}
                disabled={why !== null}
              >
                {text.remove}
              </button>
            </form>
          </div>
        </Offered>
      </td>
    </tr>
  );
}

const isHttp = ({ protocol }: Schemas["Listener"]) => protocol === "http" || protocol === "https";

/** Requests where haproxy reads them, else connections. */
function rateText({ view }: OverviewProps, listener: Schemas["Listener"], seen: Health): string {
  const { requests, connects } = view.messages.loadBalancers.listeners;
  return isHttp(listener)
    ? requests(view.format.number(seen.requests_per_second))
    : connects(view.format.number(seen.connections_per_second));
}
