import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead, Status } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { refusedForm } from "../../refused-form.ts";
import { organisationCalls } from "./calls.ts";
import { QuotasForm } from "./change-quotas-form.tsx";
import { ChooseOrganisation } from "./choose-form.tsx";
import type { OrganisationPageProps } from "./props.ts";
import { OrganisationUsage } from "./usage-panel.tsx";

/** One organisation as operators see it, with the settings that they make for it. */
export function OrganisationPage(props: OrganisationPageProps) {
  const { view, organisation, banner } = props;
  return (
    <Shell
      view={view}
      title={organisation.name}
      section="operator"
      crumbs={operatorCrumbs(view, "organisations")}
    >
      <OperatorTabs view={view} current="organisations" />
      <PageHead
        title={organisation.name}
        lead={organisation.slug}
        api={<ApiDrawer view={view} calls={organisationCalls(props)} />}
      >
        <ChooseOrganisation view={view} organisation={organisation} />
      </PageHead>
      <PageNotice banner={banner} />
      <QuotasForm {...props} />
      <OrganisationUsage {...props} />
      <Settings {...props} />
      <Standing {...props} />
    </Shell>
  );
}

function Settings({ view, organisation, form, idempotencyKey }: OrganisationPageProps) {
  const { messages } = view;
  const refused = refusedForm(form, "settings");
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{messages.organisations.rename}</h2>
      </div>
      <form class="row-form" method="post" action={`/organisations/${organisation.id}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={refused?.values.name ?? organisation.name}
          hint={messages.organisations.nameHint}
          problems={refused?.problems ?? noProblems}
          required
          maxlength={100}
        />
        <button type="submit" class="button">
          {messages.organisations.rename}
        </button>
      </form>
    </section>
  );
}

function Standing({ view, organisation, idempotencyKey }: OrganisationPageProps) {
  const text = view.messages.organisations;
  const suspended = organisation.status === "suspended";
  return (
    <section class="panel danger" aria-labelledby="standing-title">
      <div class="panel-head">
        <h2 id="standing-title">{text.standing}</h2>
        <Status tone={suspended ? "bad" : "good"}>{suspended ? text.suspended : text.active}</Status>
      </div>
      <form class="danger-row" method="post" action={`/organisations/${organisation.id}/standing`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-standing`} />
        <div>
          <p>{suspended ? text.resumeHint : text.suspendHint}</p>
        </div>
        <button
          type="submit"
          class="button"
          data-kind={suspended ? undefined : "danger"}
          name="status"
          value={suspended ? "active" : "suspended"}
        >
          {suspended ? text.resume : text.suspend}
        </button>
      </form>
    </section>
  );
}
