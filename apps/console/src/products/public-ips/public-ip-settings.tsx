import { ActButton } from "../../layout/act-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, refusedForm, typedIn } from "../../refused-form.ts";
import { may } from "../../session.ts";
import type { PublicIpPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** Its PTR name, what becomes of it with its server, and its protection, to be changed in place. */
export function PublicIpSettings(props: PublicIpPageProps) {
  const { view, ip, form, idempotencyKey } = props;
  const { messages, session } = view;
  const text = messages.publicIps;
  const refused = refusedForm(form, "update");
  const mayUnprotect = session === null || may(session, "public_ip:unprotect");
  const mustStayProtected = ip.protection.delete && !mayUnprotect;
  return (
    <details class="add-inline" id="settings" open={refused !== null} {...keptForm(form, "update")}>
      <summary>
        <Icon name="pencil" size={15} />
        {text.change}
      </summary>
      <form class="form" method="post" action={`/public-ips/${ip.id}/update`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-update`} />
        <TextField
          view={view}
          name="ptr"
          label={text.ptr}
          value={typedIn(form, "update", "ptr", ip.ptr ?? "")}
          hint={text.ptrHint}
          problems={problemsOf(form, "update")}
          autofocus={refused !== null}
          optional
          mono
          maxlength={253}
          attributes={{ placeholder: "web.example.org" }}
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
            {/* A browser leaves out what is disabled, which would read as taken off. */}
            <input type="hidden" name="protect" value="on" />
            <p class="hint">{messages.common.notAllowed}</p>
          </>
        ) : null}
        <ActButton why={whyNot(props, null)}>{text.save}</ActButton>
      </form>
    </details>
  );
}
