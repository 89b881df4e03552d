import { Offered } from "../../layout/action-button.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { Copyable, When } from "../../layout/parts.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { Attachments } from "./attachments-panel.tsx";
import { overviewCalls, settingsCalls } from "./calls.ts";
import { whyNotDelete } from "./disabled-reason.ts";
import { headedFirewalls } from "./head-part.tsx";
import type { OverviewProps, SettingsProps } from "./props.ts";
import { firewalls } from "./resource.ts";
import { PlatformRules, RuleTable } from "./rule-table.tsx";
import { TestPanel } from "./test-panel.tsx";

/** Its rules, where they apply, and a test of them. */
export function OverviewPage(props: OverviewProps) {
  const { view, firewall, places, banner, idempotencyKey } = props;
  return (
    <ResourcePage
      view={view}
      resource={firewalls}
      item={firewall}
      head={headedFirewalls.headOf(view, firewall, idempotencyKey)}
      tab="overview"
      banner={banner}
      calls={overviewCalls(props)}
      live={{ seconds: 4, gone: "/firewalls" }}
      still={
        <>
          <TestPanel view={view} firewall={firewall} places={places} asked={props.asked} />
          <div class="columns">
            <PlatformRules view={view} rules={firewall.platform_rules} />
            <Facts {...props} />
          </div>
        </>
      }
    >
      <section class="panel" id="rules" aria-labelledby="rules-title">
        <div class="panel-head">
          <h2 id="rules-title">{view.messages.firewalls.rules}</h2>
        </div>
        <RuleTable view={view} firewall={firewall} places={places} direction="in" />
        <RuleTable view={view} firewall={firewall} places={places} direction="out" />
      </section>
      <Attachments {...props} />
    </ResourcePage>
  );
}

/** Its name, description and labels; deletion. */
export function SettingsPage(props: SettingsProps) {
  const { view, firewall, banner, idempotencyKey } = props;
  const forms = { view, resource: firewalls, item: firewall, form: props.form, idempotencyKey };
  return (
    <ResourcePage
      view={view}
      resource={firewalls}
      item={firewall}
      head={headedFirewalls.headOf(view, firewall, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(firewall)}
    >
      <ChangeForms {...forms} why={null} />
      <Offered view={view} permission="firewall:delete">
        <DeletePanel {...forms} why={whyNotDelete(props)} />
      </Offered>
    </ResourcePage>
  );
}

/** The firewall's record; the header has its region. */
function Facts({ view, firewall }: OverviewProps) {
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.facts}</h2>
      </div>
      <dl class="facts">
        <LabelsFact view={view} labels={firewall.labels} list="/firewalls" />
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={firewall.created_at} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="firewall-id" text={firewall.id} />
          </dd>
        </div>
      </dl>
    </section>
  );
}
