import { ApiCall } from "../../layout/api-call-part.tsx";
import { SelectField } from "../../layout/fields.tsx";
import { operatorCrumbs } from "../../layout/operator-crumbs.ts";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { Machine } from "./import-machine-panel.tsx";
import { Server } from "./import-server-panel.tsx";
import { ImportSummary } from "./import-summary-part.tsx";
import { toImportBody } from "./import-values.ts";
import { NoRegions } from "./no-regions-part.tsx";
import type { ImportPageProps } from "./props.ts";

/** Imports a VM that was not created by Kule as a server. */
export function ImportPage(props: ImportPageProps) {
  const { view, banner } = props;
  const text = view.messages.serverImport;
  return (
    <Shell view={view} title={text.title} section="operator" crumbs={operatorCrumbs(view)}>
      <OperatorTabs view={view} current="import" />
      <PageHead title={text.title} lead={text.lead} />
      <PageNotice banner={banner} />
      {props.regions.length === 0 ? <NoRegions view={view} /> : <ImportChoices {...props} />}
    </Shell>
  );
}

/** A form whose lists depend on its choices: the server renders them again, by the script or by a button. */
function ImportChoices(props: ImportPageProps) {
  const { view, form } = props;
  const text = view.messages.serverImport;
  return (
    <>
      <form
        id="import-form"
        class="create"
        method="post"
        action="/operator/import"
        data-redraw="/operator/import/preview"
      >
        {/* Enter activates the first button of a form: it checks, and imports nothing. */}
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: tabindex -1 keeps it out of reach, it only answers Enter */}
        <button
          type="submit"
          name="intent"
          value="check"
          class="visually-hidden"
          tabindex={-1}
          aria-hidden="true"
        >
          {text.check}
        </button>
        <FormSeal view={view} idempotencyKey={form.idempotencyKey} />
        {/* Region, organisation and VM determine the other choices: the form is requested again. */}
        <div
          id="import-choices"
          class="stack"
          hx-post="/operator/import/preview"
          hx-trigger="change delay:80ms"
          hx-target="#import-form"
          hx-select="#import-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
          hx-validate="false"
        >
          <Place {...props} />
          <Machine {...props} />
          <Server {...props} />
        </div>
        <ImportSummary {...props} />
      </form>
      <ApiCall
        view={view}
        id="import-call"
        operation="importServer"
        body={toImportBody({ ...form, name: form.name || "web-1", vmid: form.vmid || "100" })}
      />
    </>
  );
}

function Place({ view, form, regions, organisations, problems }: ImportPageProps) {
  const { messages } = view;
  const text = messages.serverImport;
  return (
    <section class="panel" aria-label={messages.common.region}>
      <div class="form" data-wide="">
        <div class="form-row">
          <SelectField
            name="region"
            label={messages.common.region}
            value={form.region}
            options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <SelectField
            name="organisation_id"
            label={text.organisation}
            value={form.organisationId}
            options={organisations.map(({ id, name }) => ({ value: id, label: name }))}
            hint={text.organisationHint}
            problems={problems}
          />
        </div>
        <button type="submit" class="button without-script" name="intent" value="refresh">
          {text.refresh}
        </button>
      </div>
    </section>
  );
}
