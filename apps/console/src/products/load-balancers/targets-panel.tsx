import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/action-button.tsx";
import { FormSeal, Status, type Tone, When } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import { AddLink } from "./listeners-panel.tsx";
import type { OverviewProps } from "./props.ts";
import { loadBalancers } from "./resource.ts";
import { checkErrorText, listenerName, targetTones } from "./status.ts";
import { targetName } from "./target-name.ts";
import { kindOf } from "./target-values.ts";

type Seen = Schemas["LoadBalancerHealth"]["targets"][number];

/** Who gets the traffic: each target with the addresses that it stands for, and what their checks say. */
export function Targets(props: OverviewProps) {
  const { view, targets, health } = props;
  const { messages } = view;
  const text = messages.loadBalancers.targets;
  return (
    <section class="panel" id="targets" aria-labelledby="targets-title">
      <div class="panel-head">
        <h2 id="targets-title">{text.title}</h2>
        <AddLink {...props} path="targets" text={text.add} />
      </div>
      {targets.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list target-list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.target}</th>
              <th scope="col">{text.health}</th>
              <th scope="col" class="number">
                {text.weight}
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {targets.map((target) => (
              <Row {...props} target={target} />
            ))}
          </tbody>
        </table>
      )}
      {health.left_out === 0 ? null : <p class="hint">{text.leftOut(view.format.number(health.left_out))}</p>}
    </section>
  );
}

function Row(props: OverviewProps & { readonly target: Schemas["Target"] }) {
  const { view, target, servers, health } = props;
  const { format, messages } = view;
  const text = messages.loadBalancers.targets;
  const name = targetName(target, servers);
  const seen = health.targets.filter(({ target_id }) => target_id === target.id);
  return (
    <tr id={target.id} data-tone={worstTone(seen)}>
      <th scope="row" class="anywhere">
        {target.server_id === null ? (
          <span class="mono">{name}</span>
        ) : (
          <a href={`/servers/${target.server_id}`}>{name}</a>
        )}
        <small class="hint target-kind">
          {[
            messages.loadBalancers.target.kinds[kindOf(target)],
            target.backup ? text.isBackup : "",
            target.drain || target.weight === 0 ? text.isDrained : "",
          ]
            .filter((part) => part !== "")
            .join(" · ")}
        </small>
      </th>
      <td class="target-health">
        <TargetHealth {...props} seen={seen} />
      </td>
      <td class="number figures" data-label={text.weight}>
        {format.number(target.weight)}
      </td>
      <td class="row-act">
        <Offered view={view} permission="load_balancer:write">
          <Acts {...props} name={name} />
        </Offered>
      </td>
    </tr>
  );
}

function Acts(props: OverviewProps & { readonly target: Schemas["Target"]; readonly name: string }) {
  const { view, balancer, target, name, idempotencyKey } = props;
  const text = view.messages.loadBalancers.targets;
  const why = disabledReason(view, balancer, "change");
  const page = `${pageOf(loadBalancers, balancer)}/targets/${target.id}`;
  return (
    <div class="row-buttons">
      <form method="post" action={`${page}/drain`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-drain-${target.id}`} />
        <button
          type="submit"
          class="button"
          name="drain"
          value={target.drain ? "false" : "true"}
          aria-label={target.drain ? text.undrainNamed(name) : text.drainNamed(name)}
          disabled={why !== null}
        >
          {target.drain ? text.undrain : text.drain}
        </button>
      </form>
      <a class="button" href={page} aria-label={text.editNamed(name)}>
        {text.edit}
      </a>
      <form method="post" action={`${page}/delete`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove-${target.id}`} />
        <button type="submit" class="button" aria-label={text.removeNamed(name)} disabled={why !== null}>
          {text.remove}
        </button>
      </form>
    </div>
  );
}

/** How many addresses of a selector are shown one by one. */
const mostShown = 20;

/** The addresses that a target stands for, with the reason of each check that failed. */
function TargetHealth(props: OverviewProps & { readonly seen: readonly Seen[] }) {
  const { view, seen } = props;
  const text = view.messages.loadBalancers.targets;
  if (seen.length === 0) return <p class="hint">{text.standsForNone}</p>;
  // What needs a look comes first.
  const inOrder = seen.toSorted((one, other) => byNeed.indexOf(one.status) - byNeed.indexOf(other.status));
  return (
    <>
      {seen.length === 1 ? null : (
        <p class="figures">
          {text.healthyOf(
            view.format.number(seen.filter(({ status }) => status === "healthy").length),
            view.format.number(seen.length),
          )}
        </p>
      )}
      <ul class="target-seen">
        {inOrder.slice(0, mostShown).map((each) => (
          <SeenAddress {...props} each={each} />
        ))}
        {seen.length > mostShown ? (
          <li class="hint">{view.messages.networkMap.more(seen.length - mostShown)}</li>
        ) : null}
      </ul>
    </>
  );
}

const byNeed: readonly Schemas["TargetStatus"][] = ["unhealthy", "unknown", "draining", "healthy"];

function SeenAddress(props: OverviewProps & { readonly each: Seen }) {
  const { view, each, listeners, servers } = props;
  const text = view.messages.loadBalancers.targets;
  const server = servers.find(({ id }) => id === each.server_id);
  return (
    <li>
      <div class="target-address">
        <Status tone={targetTones[each.status]}>{text.states[each.status]}</Status>
        <span>
          {server === undefined ? null : <a href={`/servers/${server.id}`}>{server.name}</a>}{" "}
          <span class="mono">{each.address}</span>
        </span>
      </div>
      {each.listeners.map(({ listener_id, last_error: error, checked_at }) => {
        const listener = listeners.find(({ id }) => id === listener_id);
        if (error === null || listener === undefined) return null;
        return (
          <p class="check-error">
            <strong>{listenerName(view, listener)}</strong> {checkErrorText(view, error)}{" "}
            {checked_at === null ? null : (
              <small class="hint">
                <When view={view} time={checked_at} />
              </small>
            )}
          </p>
        );
      })}
    </li>
  );
}

/** That of the address that needs a look first. */
function worstTone(seen: readonly Seen[]): Tone {
  const status = byNeed.find((each) => seen.some((one) => one.status === each));
  return status === undefined ? "idle" : targetTones[status];
}
