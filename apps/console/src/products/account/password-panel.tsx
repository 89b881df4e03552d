import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { AccountPageProps } from "./props.ts";

/** Never prefilled: the value of a password field is not sent back to the page. */
export function PasswordPanel({ view, security, form, idempotencyKey }: AccountPageProps) {
  const text = view.messages.account;
  const problems = refusedForm(form, "password")?.problems ?? noProblems;
  return (
    <section class="panel" id="password" aria-labelledby="password-title">
      <div class="panel-head">
        <h2 id="password-title">{text.password}</h2>
      </div>
      <p class="panel-lead">
        {security.has_password ? text.passwordHint : view.messages.identities.noPassword}
      </p>
      <form class="form" method="post" action="/account/password">
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-password`} />
        {/* The user name, for password managers. */}
        <input
          type="email"
          name="email"
          value={view.session?.user.email}
          autocomplete="username"
          hidden
          readonly
        />
        {security.has_password ? (
          <TextField
            view={view}
            name="current_password"
            label={text.currentPassword}
            type="password"
            autocomplete="current-password"
            problems={problems}
            required
            maxlength={1000}
          />
        ) : null}
        <TextField
          view={view}
          name="new_password"
          label={text.newPassword}
          hint={text.newPasswordHint}
          type="password"
          autocomplete="new-password"
          problems={problems}
          required
          maxlength={1000}
        />
        <TextField
          view={view}
          name="repeat_password"
          label={text.repeatPassword}
          type="password"
          autocomplete="new-password"
          problems={problems}
          required
          maxlength={1000}
        />
        <label class="check">
          <input type="checkbox" name="end_tokens" value="on" />
          <span>
            {text.endTokens} <span class="hint">{text.endTokensHint}</span>
          </span>
        </label>
        <button type="submit" class="button" data-kind="primary">
          {security.has_password ? text.changePassword : view.messages.identities.setPassword}
        </button>
      </form>
    </section>
  );
}
