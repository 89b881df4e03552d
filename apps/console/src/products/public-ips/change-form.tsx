import { ActionButton } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, refusedForm, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { PublicIpTabProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** The address's PTR name, its release with its server, and its protection. */
export function PublicIpSettings(props: PublicIpTabProps) {
  const { view, ip, form, idempotencyKey } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const refused = refusedForm(form, "settings");
  const mayUnprotect = session === null || may(session, "public_ip:unprotect");
  const mustStayProtected = ip.protection.delete && !mayUnprotect;
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title" {...keptForm(form, "settings")}>
      <div class="panel-head">
        <h2 id="settings-title">{messages.resourceTabs.tabs.settings}</h2>
      </div>
      <form class="form" method="post" action={`${pageOf(publicIps, ip)}/settings`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="ptr"
          label={text.ptr}
          value={typedIn(form, "settings", "ptr", ip.ptr ?? "")}
          hint={text.ptrHint}
          problems={problemsOf(form, "settings")}
          autofocus={refused !== null}
          optional
          mono
          maxlength={253}
          attributes={{ placeholder: ip.reverse_name ?? "web.example.org" }}
        />
        <label class="check">
          <input
            type="checkbox"
            name="delete_with_server"
            checked={refused === null ? ip.delete_with_server : "delete_with_server" in refused.values}
          />
          <span>{text.deleteWithServer}</span>
        </label>
        <label class="check">
          <input
            type="checkbox"
            name="protect"
            checked={refused === null ? ip.protection.delete : "protect" in refused.values}
            disabled={mustStayProtected}
          />
          <span>{text.protect}</span>
        </label>
        {mustStayProtected ? (
          <>
            {/* A browser does not send disabled controls, which would read as switched off. */}
            <input type="hidden" name="protect" value="on" />
            <p class="hint">{messages.common.notAllowed}</p>
          </>
        ) : null}
        <ActionButton why={disabledReason(props, null)}>{text.save}</ActionButton>
      </form>
    </section>
  );
}
