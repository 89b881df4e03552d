import { ApiCall } from "../../layout/api-call-part.tsx";
import { type FieldProblems, noProblems, TextField } from "../../layout/fields.tsx";
import { Banner, FormSeal } from "../../layout/parts.tsx";
import { SignInCard } from "../../layout/sign-in-card.tsx";
import type { View } from "../../layout/view.ts";

/** `asks`: the form. `sent`: it was sent. `unmailed`: this installation sends no mail. */
export type ForgotPasswordState = "asks" | "sent" | "unmailed";

/** Requests a password reset. The answer is the same for everybody, whether or not there is an account. */
export function ForgotPasswordPage(props: {
  readonly view: View;
  readonly state: ForgotPasswordState;
  readonly email?: string;
  readonly problems?: FieldProblems;
}) {
  const { view, state, email = "", problems = noProblems } = props;
  const { passwordReset: text, signIn } = view.messages;
  const leads = { asks: text.mailLead, sent: text.mailed, unmailed: text.ask };
  return (
    <SignInCard view={view} title={text.forgot} lead={leads[state]}>
      {state === "asks" ? (
        <form class="form" method="post" action="/forgot-password">
          <FormSeal view={view} />
          <TextField
            view={view}
            name="email"
            label={signIn.email}
            type="email"
            value={email}
            autocomplete="username"
            problems={problems}
            required
            maxlength={254}
            autofocus
          />
          <button type="submit" class="button" data-kind="primary" data-size="wide">
            {text.mail}
          </button>
          <ApiCall
            view={view}
            id="forgot-password-call"
            operation="requestPasswordReset"
            body={{ email: "ada@example.org", language: view.language }}
          />
        </form>
      ) : null}
      <p class="sign-in-other">
        <a href="/sign-in">{text.back}</a>
      </p>
    </SignInCard>
  );
}

/** The page of a reset link, whether mailed or created by an operator. No input is sent back to the page. */
export function ResetPasswordPage(props: {
  readonly view: View;
  readonly secret: string;
  readonly problems: FieldProblems;
}) {
  const { view, secret, problems } = props;
  const { passwordReset: text, account } = view.messages;
  return (
    <SignInCard view={view} title={text.set} lead={text.lead}>
      {problems.secret === undefined ? null : <Banner kind="problem">{text.over}</Banner>}
      <form class="form" method="post" action="/reset-password">
        <FormSeal view={view} />
        <input type="hidden" name="secret" value={secret} />
        <TextField
          view={view}
          name="new_password"
          label={account.newPassword}
          hint={account.newPasswordHint}
          type="password"
          autocomplete="new-password"
          problems={problems}
          required
          maxlength={1000}
          autofocus
        />
        <TextField
          view={view}
          name="repeat_password"
          label={account.repeatPassword}
          type="password"
          autocomplete="new-password"
          problems={problems}
          required
          maxlength={1000}
        />
        <label class="check">
          <input type="checkbox" name="end_tokens" value="on" />
          <span>
            {account.endTokens} <span class="hint">{account.endTokensHint}</span>
          </span>
        </label>
        <button type="submit" class="button" data-kind="primary" data-size="wide">
          {text.set}
        </button>
        <ApiCall
          view={view}
          id="reset-password-call"
          operation="confirmPasswordReset"
          body={{ secret: "kule_pwr_…", new_password: "seven brave otters swam home", end_tokens: false }}
        />
      </form>
    </SignInCard>
  );
}
