import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { questionText, ReachForm } from "../networks/ask-reach-form.tsx";
import type { Question } from "../networks/reach-question.ts";
import { type Places, ruleText } from "./places.ts";

export type TestAnswer = Question & { readonly verdict: Schemas["FirewallVerdict"] | null };

/** The firewall's decision on a packet, and the rule that decides it. */
export function TestPanel(props: {
  readonly view: View;
  readonly firewall: Schemas["Firewall"];
  readonly places: Places;
  readonly asked: TestAnswer;
}) {
  const { view, firewall, places, asked } = props;
  const text = view.messages.firewalls.test;
  return (
    <section class="panel" id="test" aria-labelledby="test-title">
      <div class="panel-head">
        <h2 id="test-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <ReachForm view={view} places={places} action={`/firewalls/${firewall.id}`} id="test" asked={asked} />
      {asked.verdict === null ? null : <Answer {...props} verdict={asked.verdict} />}
    </section>
  );
}

function Answer({
  view,
  places,
  asked,
  verdict,
}: {
  readonly view: View;
  readonly places: Places;
  readonly asked: TestAnswer;
  readonly verdict: Schemas["FirewallVerdict"];
}) {
  const text = view.messages.firewalls.test;
  const { rule } = verdict;
  const isIn = asked.values.to?.startsWith("srv_") === true;
  return (
    <div class="verdict" data-verdict={verdict.verdict} role="status">
      <p class="verdict-word">
        <Icon name={verdict.verdict === "allowed" ? "check" : "cross"} size={22} />
        {view.messages.reach.verdict[verdict.verdict]}
      </p>
      <p class="mono verdict-question">{questionText(view, places, asked.values)}</p>
      {rule === null ? (
        <p>{isIn ? text.noRuleIn : text.noRuleOut}</p>
      ) : (
        <p>
          {text.decides} <a href={`#${rule.id}`}>{ruleText(view, places, rule)}</a>
          {rule.description === "" ? null : ` (${rule.description})`}
        </p>
      )}
    </div>
  );
}
