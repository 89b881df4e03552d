import { ActionButton, notAllowed } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import type { CertificateTabProps } from "./props.ts";
import { certificates } from "./resource.ts";

/** The certificate's name. */
export function CertificateSettings({ view, certificate, form, idempotencyKey }: CertificateTabProps) {
  const { messages } = view;
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{messages.resourceTabs.tabs.settings}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(certificates, certificate)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={typedIn(form, "settings", "name", certificate.name)}
          problems={problemsOf(form, "settings")}
          required
          maxlength={100}
        />
        <ActionButton why={notAllowed(view, "certificate:update")}>{messages.common.save}</ActionButton>
      </form>
    </section>
  );
}
