import { ActionButton, notAllowed } from "../../layout/action-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { problemsOf } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { importCalls } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import { FileProblems } from "./file-problems-part.tsx";
import { headedDomains } from "./head-part.tsx";
import { ImportPreview } from "./preview-panel.tsx";
import type { ImportProps } from "./props.ts";
import { domains } from "./resource.ts";

const modes = ["merge", "replace"] as const;

/** A pasted zone file: first what it would change, then the change. */
export function ImportPage(props: ImportProps) {
  const { view, domain, banner, idempotencyKey, preview } = props;
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="import"
      banner={banner}
      calls={importCalls(domain)}
      still={
        notAllowed(view, "domain_record:update") !== null ? null : (
          <>
            <FileForm {...props} />
            {preview === null ? null : <ImportPreview {...props} preview={preview} />}
          </>
        )
      }
    />
  );
}

function FileForm(props: ImportProps) {
  const { view, domain, typed, problems, idempotencyKey } = props;
  const text = view.messages.domains.import;
  return (
    <section class="panel" aria-labelledby="import-title">
      <div class="panel-head">
        <h2 id="import-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <form class="form wide-form" method="post" action={`${pageOf(domains, domain)}/import`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-preview`} />
        <TextField
          view={view}
          name="zone_file"
          label={text.file}
          value={typed.zoneFile}
          hint={text.fileHint}
          problems={problems.length === 0 ? problemsOf(props.form, "import") : noProblems}
          required
          mono
          rows={12}
          attributes={{ wrap: "off", placeholder: "www 300 IN A 192.0.2.10" }}
        >
          <FileProblems view={view} problems={problems} more={props.moreProblems} />
        </TextField>
        <fieldset class="choice">
          <legend>{text.mode}</legend>
          <div class="checks">
            {modes.map((mode) => (
              <label class="check">
                <input type="radio" name="mode" value={mode} checked={typed.mode === mode} />
                <span>{text.modes[mode]}</span>
              </label>
            ))}
          </div>
        </fieldset>
        <ActionButton
          why={disabledReason(view, domain, "change")}
          {...(props.preview === null ? { kind: "primary" as const } : {})}
        >
          {text.preview}
        </ActionButton>
      </form>
    </section>
  );
}
