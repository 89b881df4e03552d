import { Offered } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import { LabelsFact } from "../../layout/labels.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Copyable, PageHead, When } from "../../layout/parts.tsx";
import { ResourceTabs } from "../../layout/resource-tabs.tsx";
import { Shell } from "../../layout/shell.tsx";
import { ChangeForms } from "../../resources/change-forms.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { Attachments } from "./attachments-panel.tsx";
import { FirewallCalls } from "./calls.tsx";
import { whyNotDelete } from "./disabled-reason.ts";
import type { FirewallPageProps } from "./props.ts";
import { firewalls } from "./resource.ts";
import { PlatformRules, RuleTable } from "./rule-table.tsx";
import { TestPanel } from "./test-panel.tsx";

export function FirewallPage(props: FirewallPageProps) {
  const { view, firewall, banner } = props;
  const text = view.messages.firewalls;
  return (
    <Shell view={view} title={firewall.name} section="firewalls">
      <p class="crumbs">
        <a href="/firewalls">{text.all}</a>
      </p>
      <PageHead
        title={firewall.name}
        {...(firewall.description === "" ? {} : { lead: firewall.description })}
      />
      <ResourceTabs view={view} resource={firewalls} item={firewall} current="overview" />
      <PageNotice banner={banner} />
      <div
        id="firewall-live"
        class="stack"
        data-poll=""
        data-gone="/firewalls"
        hx-get={`/firewalls/${firewall.id}`}
        hx-trigger="every 4s, refresh"
        hx-select="#firewall-live"
        hx-swap="outerMorph"
      >
        <section class="panel" id="rules" aria-labelledby="rules-title">
          <div class="panel-head">
            <h2 id="rules-title">{text.rules}</h2>
            <Offered view={view} permission="firewall:update">
              <a class="button" href={`/firewalls/${firewall.id}/rules`}>
                <Icon name="pencil" size={15} />
                {text.edit}
              </a>
            </Offered>
          </div>
          <RuleTable view={view} firewall={firewall} places={props.places} direction="in" />
          <RuleTable view={view} firewall={firewall} places={props.places} direction="out" />
        </section>
        <Attachments {...props} />
      </div>
      <TestPanel view={view} firewall={firewall} places={props.places} asked={props.asked} />
      <div class="columns">
        <PlatformRules view={view} rules={firewall.platform_rules} />
        <Facts {...props} />
      </div>
      <Offered view={view} permission="firewall:delete">
        <DeletePanel
          view={view}
          resource={firewalls}
          item={firewall}
          why={whyNotDelete(props)}
          form={props.form}
          idempotencyKey={props.idempotencyKey}
        />
      </Offered>
      <FirewallCalls {...props} />
    </Shell>
  );
}

function Facts(props: FirewallPageProps) {
  const { view, firewall } = props;
  const { messages } = view;
  return (
    <section class="panel" aria-labelledby="facts-title">
      <div class="panel-head">
        <h2 id="facts-title">{messages.servers.overview}</h2>
      </div>
      <dl class="facts">
        <div>
          <dt>{messages.common.region}</dt>
          <dd>{firewall.region}</dd>
        </div>
        <div>
          <dt>{messages.common.id}</dt>
          <dd>
            <Copyable view={view} id="firewall-id" text={firewall.id} />
          </dd>
        </div>
        <div>
          <dt>{messages.common.created}</dt>
          <dd>
            <When view={view} time={firewall.created_at} />
          </dd>
        </div>
        <LabelsFact view={view} labels={firewall.labels} list="/firewalls" />
      </dl>
      <ChangeForms
        view={view}
        resource={firewalls}
        item={firewall}
        why={null}
        form={props.form}
        idempotencyKey={props.idempotencyKey}
      />
    </section>
  );
}
