import { raw } from "hono/html";
import { ApiDrawer } from "../../layout/api-call-part.tsx";
import { type FieldProblems, TextField } from "../../layout/fields.tsx";
import { Copyable, FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import { accountCrumbs } from "./crumbs.ts";

/** The QR code for the app, and the field for the app's code. */
export function SetUpPage(props: {
  readonly view: View;
  readonly secret: string;
  /** An SVG document made by the console. */
  readonly qrCode: string;
  readonly problems: FieldProblems;
}) {
  const { view, secret, qrCode, problems } = props;
  const text = view.messages.account;
  return (
    <Shell view={view} title={text.setUpTitle} crumbs={accountCrumbs(view)}>
      <PageHead
        title={text.setUpTitle}
        lead={text.setUpLead}
        api={<ApiDrawer view={view} calls={[{ operation: "confirmTotp", body: { code: "492039" } }]} />}
      />
      <section class="panel set-up">
        <div class="qr-code" role="img" aria-label={text.qrAlt}>
          {raw(qrCode)}
        </div>
        <div>
          <p>{text.secretByHand}</p>
          <p class="breakable">
            <Copyable view={view} id="totp-secret" text={secret.replaceAll(/.{4}(?=.)/g, "$& ")} />
          </p>
          <form class="form" method="post" action="/account/two-factor/confirm">
            <FormSeal view={view} idempotencyKey={crypto.randomUUID()} />
            <TextField
              view={view}
              name="code"
              label={text.code}
              hint={text.codeHint}
              autocomplete="one-time-code"
              problems={problems}
              required
              mono
              maxlength={12}
              autofocus
              attributes={{ inputmode: "numeric" }}
            />
            <div class="acts">
              <button type="submit" class="button" data-kind="primary">
                {text.confirmApp}
              </button>
              <a class="button" href="/account/security">
                {view.messages.common.cancel}
              </a>
            </div>
          </form>
        </div>
      </section>
    </Shell>
  );
}
