import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { type Places, ruleText } from "../firewalls/places.ts";
import { questionText, ReachForm } from "./ask-reach-form.tsx";
import type { Question } from "./reach-question.ts";

export type ExplainAnswer = Question & { readonly verdict: Schemas["ReachVerdict"] | null };

type Props = {
  readonly view: View;
  readonly network: Schemas["Network"];
  readonly subnets: readonly Schemas["Subnet"][];
  readonly places: Places;
  readonly asked: ExplainAnswer;
};
type Decision = Schemas["ReachDecision"];

/** Whether one server reaches another, the rule that decides it, and the hops of the packet. */
export function ExplainPanel(props: Props) {
  const { view, network, subnets, places, asked } = props;
  const text = view.messages.reach;
  // This network's servers come first in the choice: the check is usually about one of them.
  const here = places.servers.filter(({ interfaces }) =>
    interfaces.some(({ subnet_id }) => subnets.some(({ id }) => id === subnet_id)),
  );
  const elsewhere = places.servers.filter((server) => !here.includes(server));
  return (
    <section class="panel" id="explain" aria-labelledby="explain-title">
      <div class="panel-head">
        <h2 id="explain-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      {here.length === 0 ? (
        <p class="hint">{text.noServers}</p>
      ) : (
        <ReachForm
          view={view}
          places={{ servers: [...here, ...elsewhere] }}
          action={`/networks/${network.id}`}
          id="explain"
          asked={asked}
        />
      )}
      {asked.verdict === null ? null : <Verdict {...props} verdict={asked.verdict} />}
    </section>
  );
}

function Verdict(props: Props & { readonly verdict: Schemas["ReachVerdict"] }) {
  const { view, places, asked, verdict } = props;
  const text = view.messages.reach;
  return (
    <div class="verdict" data-verdict={verdict.verdict} role="status">
      <p class="verdict-word">
        <Icon name={verdict.verdict === "allowed" ? "check" : "cross"} size={22} />
        {text.verdict[verdict.verdict]}
      </p>
      <p class="mono verdict-question">{questionText(view, places, asked.values)}</p>
      <p>
        <span class="tag">{text.by[verdict.decided_by.type] ?? verdict.decided_by.type}</span>{" "}
        <DecisionText {...props} decision={verdict.decided_by} word={verdict.verdict} />
      </p>
      {verdict.checks.length === 0 ? null : (
        <>
          <h3>{text.way}</h3>
          <ol class="way">
            {verdict.checks.map((check) => (
              <li data-verdict={check.verdict}>
                <Icon name={check.verdict === "allowed" ? "check" : "cross"} size={16} />
                <strong>{text.places[check.place]}</strong>
                <span>
                  <DecisionText {...props} decision={check.decided_by} word={check.verdict} />
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

/** The deciding rule as text: a firewall rule with its firewall, anything else by the API's words or a translation. */
function DecisionText(
  props: Props & { readonly decision: Decision; readonly word: Schemas["ReachVerdict"]["verdict"] },
) {
  const { view, places, decision, word } = props;
  const firewall = places.firewalls.find(({ id }) => id === decision.resource);
  const rule = firewall?.rules.find(({ id }) => id === decision.rule_id);
  if (firewall !== undefined && rule !== undefined)
    return (
      <>
        {view.messages.reach.ruleOf(firewall.name)}{" "}
        <a href={`/firewalls/${firewall.id}#${rule.id}`}>{ruleText(view, places, rule)}</a>
      </>
    );
  const own = view.messages.reach.words[decision.type]?.[word];
  return <>{own ?? named(props, decision.message)}</>;
}

/** The API's words with names in place of ids. */
function named({ network, subnets, places }: Props, message: string): string {
  const known = [network, ...subnets, ...places.servers, ...places.firewalls];
  return known.reduce((text, { id, name }) => text.replaceAll(id, name), message);
}
