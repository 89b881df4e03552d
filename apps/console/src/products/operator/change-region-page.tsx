import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { noProblems } from "../../layout/fields.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { refusedForm } from "../../refused-form.ts";
import { AgentKey } from "./agent-key-panel.tsx";
import { AgentTokens, TokenSecret } from "./agent-tokens-panel.tsx";
import { Enrolment, EnrolmentCommand } from "./enrolment-panel.tsx";
import type { RegionPageProps } from "./props.ts";
import { regionCalls } from "./region-calls.ts";
import { RegionFields, RestrictedTo } from "./region-fields.tsx";
import { regionTones } from "./region-panel.tsx";
import { type RegionValues, valuesOf } from "./region-values.ts";

/** One region's tokens and settings; its state is on the page of all regions. */
export function RegionPage(props: RegionPageProps) {
  const { view, region, banner, secret, enrolment } = props;
  const { operator, regionAdmin: text } = view.messages;
  return (
    <Shell view={view} title={region.name} section="operator" crumbs={operatorCrumbs(view, "regions")}>
      <OperatorTabs view={view} current="regions" />
      <PageHead
        title={region.name}
        lead={`${region.slug} · ${text.modes[region.mode]}`}
        api={<ApiDrawer view={view} calls={regionCalls(props)} />}
      >
        <Status tone={regionTones[region.status]}>{operator.status[region.status]}</Status>
      </PageHead>
      <PageNotice banner={banner} />
      {secret === null ? null : <TokenSecret view={view} secret={secret} />}
      {enrolment === null ? null : <EnrolmentCommand view={view} command={enrolment} />}
      {region.agent === null && region.mode === "agent" ? <NextSteps view={view} /> : null}
      {region.mode === "direct" ? null : <Enrolment {...props} />}
      <AgentTokens {...props} />
      <AgentKey {...props} />
      <Settings {...props} />
    </Shell>
  );
}

function NextSteps({ view }: { readonly view: View }) {
  const text = view.messages.regionAdmin;
  return (
    <section class="panel" aria-labelledby="next-title">
      <div class="panel-head">
        <h2 id="next-title">{text.next}</h2>
      </div>
      <ol class="steps-told">
        {text.nextSteps.map((step) => (
          <li>{step}</li>
        ))}
      </ol>
    </section>
  );
}

function Settings(props: RegionPageProps) {
  const { view, region, organisations, idempotencyKey } = props;
  const text = view.messages.regionAdmin;
  const form = refusedForm(props.form, "settings");
  const problems = form?.problems ?? noProblems;
  const values = form === null ? valuesOf(region) : ({ ...valuesOf(region), ...form.values } as RegionValues);
  const ticked = form === null ? (region.restricted_to ?? []) : (form.values.restricted_to ?? "").split(" ");
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{text.settings}</h2>
      </div>
      <form class="form" data-wide="" method="post" action={`/operator/regions/${region.slug}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <RegionFields view={view} values={values} problems={problems} />
        <RestrictedTo view={view} organisations={organisations} ticked={ticked} problems={problems} />
        <button type="submit" class="button">
          {text.save}
        </button>
      </form>
    </section>
  );
}
