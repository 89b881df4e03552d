import { ActionButton } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, refusedForm, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

/** The domain's default TTL, description and protection. */
export function DomainSettings({ view, domain, form, idempotencyKey }: DomainTabProps) {
  const { messages } = view;
  const text = messages.domains;
  const refused = refusedForm(form, "settings");
  const problems = problemsOf(form, "settings");
  const mayUnprotect = view.session === null || may(view.session, "domain:unprotect");
  const mustStayProtected = domain.protection.delete && !mayUnprotect;
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{messages.resourceTabs.tabs.settings}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(domains, domain)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="ttl"
          label={text.ttl}
          value={typedIn(form, "settings", "ttl", String(domain.ttl))}
          hint={text.ttlHint}
          problems={problems}
          required
          mono
          maxlength={6}
          attributes={{ inputmode: "numeric" }}
        />
        <TextField
          view={view}
          name="description"
          label={messages.common.description}
          value={typedIn(form, "settings", "description", domain.description)}
          problems={problems}
          optional
          maxlength={500}
        />
        <label class="check">
          <input
            type="checkbox"
            name="protect"
            checked={refused === null ? domain.protection.delete : "protect" in refused.values}
            disabled={mustStayProtected}
          />
          <span>{text.settings.protect}</span>
        </label>
        {mustStayProtected ? (
          <>
            {/* A browser does not send disabled controls, which would read as switched off. */}
            <input type="hidden" name="protect" value="on" />
            <p class="hint">{messages.common.notAllowed}</p>
          </>
        ) : null}
        <ActionButton why={null}>{text.settings.save}</ActionButton>
      </form>
    </section>
  );
}
