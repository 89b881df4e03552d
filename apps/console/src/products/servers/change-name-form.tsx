import { ActionButton } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { ServerTabProps } from "./props.ts";
import { servers } from "./resource.ts";

/** The server's name in Kule and in the hypervisor; the guest keeps its hostname. */
export function RenameServer({ view, server, refused, idempotencyKey }: ServerTabProps) {
  const texts = view.messages.operations;
  const why = disabledReason(view, server, "rename", "server:update");
  return (
    <section class="panel" id="rename" aria-labelledby="rename-title">
      <div class="panel-head">
        <h2 id="rename-title">{texts.rename}</h2>
      </div>
      <form
        class="form"
        method="post"
        action={`${pageOf(servers, server)}/settings`}
        {...keptForm(refused, "settings")}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={texts.newName}
          value={typedIn(refused, "settings", "name", server.name)}
          hint={texts.renameHint}
          problems={problemsOf(refused, "settings")}
          autofocus={refused?.of === "settings"}
          required
          mono
          maxlength={63}
        />
        <ActionButton why={why}>{texts.rename}</ActionButton>
      </form>
    </section>
  );
}
