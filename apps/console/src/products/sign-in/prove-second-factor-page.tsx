import { noProblems, TextField } from "../../layout/fields.tsx";
import { Banner, FormSeal } from "../../layout/parts.tsx";
import { SignInCard } from "../../layout/sign-in-card.tsx";
import type { View } from "../../layout/view.ts";

type Props = {
  readonly view: View;
  /** The methods that can complete this sign-in. */
  readonly methods: readonly string[];
  readonly problem: string | null;
};

/** One field for both kinds of codes: the format distinguishes them. */
export function SecondFactorPage({ view, methods, problem }: Props) {
  const text = view.messages.account;
  const isApp = methods.includes("totp");
  return (
    <SignInCard view={view} title={text.secondStep} lead={isApp ? text.secondStepLead : text.recoveryLead}>
      {problem === null ? null : <Banner kind="problem">{problem}</Banner>}
      <form class="form" method="post" action="/sign-in/second-factor">
        <FormSeal view={view} />
        <TextField
          view={view}
          name="code"
          label={text.code}
          autocomplete="one-time-code"
          hint={text.codeOrRecovery}
          problems={noProblems}
          required
          mono
          maxlength={60}
          autofocus
        />
        <button type="submit" class="button" data-kind="primary" data-size="wide">
          {view.messages.signIn.submit}
        </button>
      </form>
      {methods.includes("passkey") ? (
        <p class="sign-in-other">
          <a class="button" data-size="wide" href="/sign-in/passkey">
            {text.usePasskey}
          </a>
        </p>
      ) : null}
      <p class="sign-in-other">
        <a href="/sign-in">{text.startAgain}</a>
      </p>
    </SignInCard>
  );
}
