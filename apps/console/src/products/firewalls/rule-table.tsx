import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { Status } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { type Places, peerText } from "./places.ts";
import { inEvaluationOrder } from "./rule-order.ts";

type Rule = Schemas["FirewallRule"];

/** The rules of one direction in the order of evaluation, and the default for other packets. */
export function RuleTable(props: {
  readonly view: View;
  readonly firewall: Schemas["Firewall"];
  readonly places: Places;
  readonly direction: "in" | "out";
}) {
  const { view, firewall, direction } = props;
  const text = view.messages.firewalls;
  const rules = inEvaluationOrder(firewall.rules.filter((rule) => rule.direction === direction));
  const title = direction === "in" ? text.incoming : text.outgoing;
  const side = direction === "in" ? text.from : text.to;
  return (
    <div class="rule-group">
      <h3>{title}</h3>
      {rules.length === 0 ? null : (
        <table class="list rule-list">
          <caption class="visually-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col">{text.action}</th>
              <th scope="col">{text.protocol}</th>
              <th scope="col">{text.ports}</th>
              <th scope="col">{side}</th>
              <th scope="col">{text.note}</th>
              <th scope="col" class="number">
                {text.priority}
              </th>
            </tr>
          </thead>
          <tbody>
            {rules.map((rule) => (
              <RuleRow {...props} rule={rule} side={side} />
            ))}
          </tbody>
        </table>
      )}
      <p class="rule-rest" data-tone={direction === "in" ? "bad" : "good"}>
        <Icon name={direction === "in" ? "cross" : "check"} size={15} />
        {direction === "in" ? text.restIn : text.restOut}
      </p>
    </div>
  );
}

function RuleRow({
  view,
  places,
  rule,
  side,
}: {
  readonly view: View;
  readonly places: Places;
  readonly rule: Rule;
  readonly side: string;
}) {
  const text = view.messages.firewalls;
  return (
    <tr id={rule.id} data-off={rule.enabled ? undefined : ""}>
      <th scope="row">
        <Status tone={!rule.enabled ? "idle" : rule.action === "allow" ? "good" : "bad"}>
          {text.actions[rule.action]}
          {rule.enabled ? null : <span class="tag">{text.off}</span>}
        </Status>
      </th>
      <td data-label={text.protocol}>{text.protocols[rule.protocol]}</td>
      <td class="mono" data-label={text.ports}>
        {rule.ports.length > 0
          ? rule.ports.join(", ")
          : rule.protocol === "tcp" || rule.protocol === "udp"
            ? text.allPorts
            : "–"}
      </td>
      <td data-label={side}>
        <span class="peers">
          {rule.peers.map((peer) => (
            <span class={peer.cidr === undefined ? "peer" : "peer mono"}>{peerText(view, places, peer)}</span>
          ))}
        </span>
      </td>
      <td class="anywhere" data-label={rule.description === "" ? undefined : text.note}>
        {rule.description}
      </td>
      <td class="number" data-label={text.priority}>
        {rule.priority}
      </td>
    </tr>
  );
}

/** The built-in rules, which cannot be changed, shown where people look for them. */
export function PlatformRules({
  view,
  rules,
}: {
  readonly view: View;
  readonly rules: Schemas["Firewall"]["platform_rules"];
}) {
  const text = view.messages.firewalls;
  return (
    <section class="panel" id="platform-rules" aria-labelledby="platform-title">
      <div class="panel-head">
        <h2 id="platform-title">
          <Icon name="lock" size={17} />
          {text.platform.title}
        </h2>
      </div>
      <p class="panel-lead">{text.platform.hint}</p>
      <ul class="platform-rules">
        {rules.map((rule) => (
          <li>
            <Status tone={rule.action === "allow" ? "good" : "bad"}>{text.actions[rule.action]}</Status>
            <span>
              {text.platform.rules[rule.name] ?? rule.description}{" "}
              <span class="tag">{text.directions[rule.direction]}</span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
