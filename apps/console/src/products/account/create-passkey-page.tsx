import type { Schemas } from "@kule/contract/schemas";
import { noProblems, TextField } from "../../layout/fields.tsx";
import { Banner, PageHead } from "../../layout/parts.tsx";
import { PasskeyForm } from "../../layout/passkey-form.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { accountCrumbs } from "./crumbs.ts";

/** Creates a passkey for the account; the browser does so on this page. */
export function CreatePasskeyPage(props: {
  readonly view: View;
  /** Where the form goes. */
  readonly action: string;
  readonly ceremony: Schemas["PasskeyCeremony"];
  /** The browser's description of its device, as the default name of the passkey. */
  readonly device: string | null;
  readonly isRefused: boolean;
}) {
  const { view, action, ceremony, device, isRefused } = props;
  const text = view.messages.account;
  return (
    <Shell view={view} title={text.addPasskey} needs={["passkeys"]} crumbs={accountCrumbs(view)}>
      <PageHead title={text.addPasskey} lead={text.addPasskeyLead} />
      {isRefused ? <Banner kind="problem">{text.passkeyFailed}</Banner> : null}
      <section class="panel">
        <PasskeyForm
          view={view}
          action={action}
          use="register"
          ceremony={ceremony}
          submit={text.createPasskey}
        >
          <TextField
            view={view}
            name="name"
            label={view.messages.common.name}
            hint={text.passkeyNameHint}
            value={device ?? ""}
            problems={noProblems}
            required
            maxlength={60}
          />
        </PasskeyForm>
      </section>
    </Shell>
  );
}
