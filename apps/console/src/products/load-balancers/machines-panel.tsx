import { Status, When } from "../../layout/parts.tsx";
import type { OverviewProps } from "./props.ts";
import { machineTones } from "./status.ts";

/** The servers that it runs on, as the region saw them last. */
export function Machines({ view, balancer, health }: OverviewProps) {
  const { messages, format } = view;
  const text = messages.loadBalancers.machines;
  return (
    <section class="panel" id="machines" aria-labelledby="machines-title">
      <div class="panel-head">
        <h2 id="machines-title">{text.title}</h2>
      </div>
      <table class="list">
        <caption class="visually-hidden">{text.title}</caption>
        <thead>
          <tr>
            <th scope="col">{text.machine}</th>
            <th scope="col">{messages.common.status}</th>
            {balancer.ha ? <th scope="col">{text.role}</th> : null}
            <th scope="col">{text.address}</th>
            <th scope="col" class="number">
              {text.connections}
            </th>
            <th scope="col">{text.answered}</th>
          </tr>
        </thead>
        <tbody>
          {health.machines.map(({ slot, server_id, state, role, connections, answered_at }) => (
            <tr data-tone={machineTones[state]}>
              <th scope="row">
                {server_id === null ? (
                  text.named(String(slot))
                ) : (
                  <a href={`/servers/${server_id}`}>{text.named(String(slot))}</a>
                )}
              </th>
              <td data-label={messages.common.status}>
                <Status tone={machineTones[state]}>{text.states[state]}</Status>
              </td>
              {balancer.ha ? (
                <td data-label={text.role}>{role === null ? text.roleUnknown : text.roles[role]}</td>
              ) : null}
              <td class="mono" data-label={text.address}>
                {balancer.machines.find((each) => each.slot === slot)?.private_ip ?? "–"}
              </td>
              <td class="number figures" data-label={text.connections}>
                {connections === null ? "–" : format.number(connections)}
              </td>
              <td data-label={text.answered}>
                {answered_at === null ? text.never : <When view={view} time={answered_at} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
