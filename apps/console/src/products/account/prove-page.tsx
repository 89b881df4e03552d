import type { Schemas } from "@kule/contract/schemas";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { type FieldProblems, TextField } from "../../layout/fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { PasskeyForm } from "../../layout/passkey-form.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { proofCalls } from "./calls.ts";
import { accountCrumbs } from "./crumbs.ts";

/** Asks the person to confirm their identity: by a code with an authenticator app, otherwise by the password. */
export function ProofPage(props: {
  readonly view: View;
  /** Null: only a passkey is accepted. */
  readonly by: "password" | "code" | null;
  readonly ceremony: Schemas["PasskeyCeremony"] | null;
  /** The linked providers, where one of them is sufficient. */
  readonly providers: readonly Schemas["OidcProvider"][];
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
}) {
  const { view, by, ceremony, providers, banner } = props;
  const text = view.messages.account;
  return (
    <Shell view={view} title={text.proofTitle} needs={["passkeys"]} crumbs={accountCrumbs(view)}>
      <PageHead
        title={text.proofTitle}
        lead={text.proofLead}
        api={<ApiDrawer view={view} calls={proofCalls(providers)} />}
      />
      <PageNotice banner={banner} />
      {ceremony === null ? null : (
        <section class="panel">
          <PasskeyForm
            view={view}
            action="/account/proof"
            use="authenticate"
            ceremony={ceremony}
            submit={text.usePasskey}
          />
        </section>
      )}
      {by === null ? null : <TypedProof {...props} by={by} />}
      {providers.map(({ id, label }) => (
        <section class="panel">
          <form method="post" action="/account/proof/provider">
            <FormSeal view={view} />
            <input type="hidden" name="provider" value={id} />
            <button type="submit" class="button" data-kind={by === null ? "primary" : undefined}>
              {view.messages.identities.proveWith(label)}
            </button>
          </form>
        </section>
      ))}
    </Shell>
  );
}

function TypedProof(props: {
  readonly view: View;
  readonly by: "password" | "code";
  readonly problems: FieldProblems;
}) {
  const { view, by, problems } = props;
  const text = view.messages.account;
  return (
    <section class="panel">
      <form class="form" method="post" action="/account/proof">
        <FormSeal view={view} />
        {by === "password" ? (
          <TextField
            view={view}
            name="password"
            label={text.proofPassword}
            type="password"
            autocomplete="current-password"
            problems={problems}
            required
            maxlength={1000}
            autofocus
          />
        ) : (
          <TextField
            view={view}
            name="code"
            label={text.code}
            hint={text.codeOrRecovery}
            autocomplete="one-time-code"
            problems={problems}
            required
            mono
            maxlength={60}
            autofocus
          />
        )}
        <div class="acts">
          <button type="submit" class="button" data-kind="primary">
            {text.prove}
          </button>
          <a class="button" href="/account/security">
            {view.messages.common.cancel}
          </a>
        </div>
      </form>
    </section>
  );
}
