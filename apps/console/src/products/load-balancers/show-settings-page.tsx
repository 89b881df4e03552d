import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { DeletePanel } from "../../resources/delete-panel.tsx";
import { LabelsPanel } from "../../resources/labels-panel.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { settingsCalls } from "./calls.ts";
import { BalancerSettings } from "./change-form.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { headedLoadBalancers } from "./head-part.tsx";
import type { BalancerTabProps, SettingsProps } from "./props.ts";
import { BalancerSize } from "./resize-form.tsx";
import { loadBalancers } from "./resource.ts";

/** Its name, description, algorithm and labels; its size; applying it again; deletion. */
export function SettingsPage(props: SettingsProps) {
  const { view, balancer, banner, form, idempotencyKey } = props;
  const why = disabledReason(view, balancer, "change");
  const forms = { view, resource: loadBalancers, item: balancer, form, idempotencyKey };
  return (
    <ResourcePage
      view={view}
      resource={loadBalancers}
      item={balancer}
      head={headedLoadBalancers.headOf(view, balancer, idempotencyKey)}
      tab="settings"
      banner={banner}
      calls={settingsCalls(props)}
    >
      <Offered view={view} permission="load_balancer:write">
        <BalancerSettings {...props} />
        <LabelsPanel {...forms} why={why} />
        <BalancerSize {...props} />
        <Apply {...props} />
        <DeletePanel {...forms} why={disabledReason(view, balancer, "delete")} />
      </Offered>
    </ResourcePage>
  );
}

function Apply({ view, balancer, idempotencyKey }: BalancerTabProps) {
  const text = view.messages.loadBalancers;
  return (
    <section class="panel" aria-labelledby="apply-title">
      <div class="panel-head">
        <h2 id="apply-title">{text.applyTitle}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(loadBalancers, balancer)}/apply`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-apply`} />
        <p class="hint">{text.applyLead}</p>
        <ActionButton why={disabledReason(view, balancer, "apply")}>{text.apply}</ActionButton>
      </form>
    </section>
  );
}
