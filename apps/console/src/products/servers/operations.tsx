import { ActButton } from "../../layout/act-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, refusedForm } from "../../refused-form.ts";
import type { ShowPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** A new password, of the image's user or of another: at once, or from the next start. */
export function PasswordPanel({ view, server, refused, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const form = refusedForm(refused, "password-reset");
  const why = whyNot(view, server, "password_reset", "server:password_reset");
  const now = server.actions.password_reset_now;
  const when = now.allowed ? "now" : "next_boot";
  const isRunning = server.status === "running";
  return (
    <section class="panel" id="password-reset" aria-labelledby="password-title">
      <form
        class="danger-row"
        method="post"
        action={`/servers/${server.id}/password-reset`}
        {...keptForm(form, "password-reset")}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-password`} />
        <div>
          <h2 id="password-title">{texts.passwordTitle}</h2>
          <p class="hint">{texts.passwordHints[isRunning && when === "next_boot" ? "no_agent" : when]}</p>
          {why === null && when === "now" && server.guest?.agent === false ? (
            <p class="hint">{texts.agentSilent}</p>
          ) : null}
          {why === null && when === "now" ? (
            <MoreFields view={view} id="password-user" form={form} fields={["username"]}>
              <TextField
                view={view}
                name="username"
                label={texts.passwordUser}
                value={form?.values.username ?? ""}
                hint={texts.passwordUserHint}
                problems={form?.problems ?? noProblems}
                optional
                mono
                maxlength={32}
              />
            </MoreFields>
          ) : null}
        </div>
        <div class="act-group">
          <ActButton why={why} name="when" value={when}>
            {when === "now" ? texts.passwordNow : texts.passwordNextBoot}
          </ActButton>
          {why === null && when === "now" ? (
            <button type="submit" class="button" name="when" value="next_boot">
              {texts.passwordNextBoot}
            </button>
          ) : null}
        </div>
      </form>
    </section>
  );
}
