import type { Schemas } from "@kule/contract/schemas";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { SignInCard } from "../../layout/sign-in-card.tsx";
import type { View } from "../../layout/view.ts";

type Props = {
  readonly view: View;
  readonly email: string;
  readonly returnTo: string;
  readonly providers: readonly Schemas["OidcProvider"][];
  /** Whether a session has ended; a form may have been filled in during it. */
  readonly isAgain?: boolean;
  readonly banner: { readonly kind: "notice" | "problem" | "warning"; readonly text: string } | null;
};

export function SignInPage({ view, email, returnTo, providers, banner, isAgain = false }: Props) {
  const { messages } = view;
  return (
    <SignInCard view={view} title={messages.signIn.title} lead={messages.signIn.lead} keepsForms={isAgain}>
      <PageNotice banner={banner} />
      <p class="hint" data-kept-hint="" hidden>
        {messages.signIn.formKept}
      </p>
      <form class="form" method="post" action="/sign-in">
        <FormSeal view={view} />
        <input type="hidden" name="return_to" value={returnTo} />
        <TextField
          view={view}
          name="email"
          label={messages.signIn.email}
          type="email"
          value={email}
          autocomplete="username"
          problems={noProblems}
          required
          maxlength={254}
          autofocus={email === ""}
        />
        <TextField
          view={view}
          name="password"
          label={messages.signIn.password}
          type="password"
          autocomplete="current-password"
          problems={noProblems}
          required
          maxlength={1000}
          autofocus={email !== ""}
        />
        <button type="submit" class="button" data-kind="primary" data-size="wide">
          {messages.signIn.submit}
        </button>
      </form>
      {providers.length === 0 ? null : (
        <div class="sign-in-providers">
          <p class="sign-in-or">{messages.providers.or}</p>
          {providers.map(({ id, label }) => (
            <a
              class="button"
              data-size="wide"
              href={`/sign-in/with/${id}?return_to=${encodeURIComponent(returnTo)}`}
            >
              {messages.providers.signInWith(label)}
            </a>
          ))}
        </div>
      )}
      <p class="sign-in-other">
        <a href="/forgot-password">{messages.passwordReset.forgot}</a>
      </p>
      <p class="sign-in-other with-script">
        <a href={`/sign-in/passkey?return_to=${encodeURIComponent(returnTo)}`}>
          {messages.account.passkeySignIn}
        </a>
      </p>
    </SignInCard>
  );
}
