import { ActionButton } from "../../layout/action-button.tsx";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, refusedForm } from "../../refused-form.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { ServerTabProps } from "./props.ts";

/**
 * Sets a new password of the image's user or of another: at once, or from the next start, which Windows does not
 * support.
 */
export function PasswordPanel({ view, server, refused, idempotencyKey }: ServerTabProps) {
  const texts = view.messages.operations;
  const form = refusedForm(refused, "password-reset");
  const why = disabledReason(view, server, "password_reset", "server:password_reset");
  const now = server.actions.password_reset_now;
  const isWindows = server.image.os_family === "windows";
  const when = now.allowed || isWindows ? "now" : "next_boot";
  const hint = isWindows
    ? "windows"
    : server.status === "running" && when === "next_boot"
      ? "no_agent"
      : when;
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
          <p class="hint">{texts.passwordHints[hint]}</p>
          {why === null && when === "now" && server.guest?.agent === false ? (
            <p class="hint">{isWindows ? texts.agentSilentWindows : texts.agentSilent}</p>
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
          <ActionButton why={why} name="when" value={when}>
            {when === "now" ? texts.passwordNow : texts.passwordNextBoot}
          </ActionButton>
          {why === null && when === "now" && !isWindows ? (
            <button type="submit" class="button" name="when" value="next_boot">
              {texts.passwordNextBoot}
            </button>
          ) : null}
        </div>
      </form>
    </section>
  );
}
