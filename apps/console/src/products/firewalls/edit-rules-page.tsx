import { ApiCall } from "../../layout/api-call-part.tsx";
import { Icon } from "../../layout/icons.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { DraftButton } from "./draft-part.tsx";
import type { RulesPageProps } from "./props.ts";
import { maxRules, rulesBody } from "./rule-draft.ts";
import { RuleFields } from "./rule-fields.tsx";
import { PlatformRules } from "./rule-table.tsx";

/** All rules as one form. Rows change only in the form until all of them are saved together. */
export function RulesPage(props: RulesPageProps) {
  const { view, firewall, rules, banner } = props;
  const text = view.messages.firewalls;
  const isFull = rules.length >= maxRules;
  return (
    <Shell
      view={view}
      title={text.editor.title(firewall.name)}
      section="firewalls"
      crumbs={[
        { path: "/firewalls", text: text.title },
        { path: `/firewalls/${firewall.id}`, text: firewall.name },
      ]}
      here={text.edit}
    >
      <PageHead title={text.editor.title(firewall.name)} lead={text.editor.lead} />
      <form
        id="rules-form"
        class="rules-form"
        method="post"
        action={`/firewalls/${firewall.id}/rules`}
        data-redraw={`/firewalls/${firewall.id}/rules/draft`}
        novalidate
      >
        {/* Enter activates the first button of a form. */}
        <button type="submit" class="visually-hidden" tabindex={-1}>
          {text.editor.save}
        </button>
        <FormSeal view={view} idempotencyKey={props.idempotencyKey} />
        <input type="hidden" name="generation" value={props.generation} />
        <PageNotice banner={banner} />
        {rules.length === 0 ? (
          <p class="hint">{text.editor.none}</p>
        ) : (
          <table class="rule-editor">
            <caption class="visually-hidden">{text.rules}</caption>
            <thead>
              <tr>
                <th scope="col">
                  <span class="visually-hidden">{text.editor.order}</span>
                </th>
                <th scope="col">{text.direction}</th>
                <th scope="col">{text.action}</th>
                <th scope="col">{text.protocol}</th>
                <th scope="col">{text.ports}</th>
                <th scope="col">{text.peers}</th>
                <th scope="col">{text.priority}</th>
                <th scope="col">{text.on}</th>
                <th scope="col">
                  <span class="visually-hidden">{text.editor.remove(1)}</span>
                </th>
              </tr>
            </thead>
            {rules.map((_, row) => (
              <RuleFields {...props} row={row} />
            ))}
          </table>
        )}
        <div class="rule-acts">
          <DraftButton
            {...props}
            id="add-rule"
            intent="add"
            class="button"
            disabled={isFull}
            autofocus={props.focus === "add-rule"}
          >
            <Icon name="plus" size={16} />
            {text.editor.add}
          </DraftButton>
          {isFull ? <p class="hint">{text.editor.full(view.format.number(maxRules))}</p> : null}
          <p class="hint">{text.asked}</p>
        </div>
        <div class="acts rule-save">
          <button type="submit" class="button" data-kind="primary">
            {text.editor.save}
          </button>
          <a class="button" href={`/firewalls/${firewall.id}`}>
            {text.editor.discard}
          </a>
        </div>
      </form>
      <PlatformRules view={view} rules={firewall.platform_rules} />
      <ApiCall
        view={view}
        id="rules-call"
        operation="setFirewallRules"
        path={{ firewall_id: firewall.id }}
        body={rulesBody(rules)}
      />
    </Shell>
  );
}
