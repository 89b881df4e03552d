import type { Schemas } from "@kule/contract/schemas";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { CopyButton, FormSeal, Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { type RefusedForm, refusedForm } from "../../refused-form.ts";
import { endOf, expiresSoon } from "../tokens/expiry.ts";

type Token = Schemas["Token"];

/** A region stops when its agent cannot sign in: the warning leaves time to install another token. */
const warnedDays = 14;

type Props = {
  readonly view: View;
  readonly region: Schemas["Region"];
  readonly tokens: readonly Token[];
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
};

/** How long the previous token stays valid, so that agents can be given the new one; and the contract's default. */
const overlapSeconds = [0, 600, 3600, 86_400, 604_800];
const usualOverlap = 600;

/** The secret of a new token: shown on this page only once. */
export function TokenSecret({ view, secret }: { readonly view: View; readonly secret: string }) {
  const text = view.messages.regionAdmin;
  return (
    <section class="panel secret" aria-labelledby="secret-title">
      <div class="panel-head">
        <h2 id="secret-title">{text.secret}</h2>
      </div>
      <p>{text.secretLead}</p>
      <p class="secret-text">
        <code id="agent-token" class="breakable">
          {secret}
        </code>
        <CopyButton view={view} source="agent-token" />
      </p>
      <p class="hint">{text.secretHint}</p>
    </section>
  );
}

/** The tokens with which agents of the region sign in. */
export function AgentTokens(props: Props) {
  const { view, region, tokens, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.regionAdmin;
  const form = refusedForm(props.form, "mint");
  const path = `/operator/regions/${region.slug}/tokens`;
  return (
    <section class="panel" id="tokens" aria-labelledby="tokens-title">
      <div class="panel-head">
        <h2 id="tokens-title">{text.tokens}</h2>
      </div>
      <p class="panel-lead">{region.mode === "direct" ? text.tokensDirect : text.tokensLead}</p>
      {tokens.length === 0 ? (
        <p class="hint">{text.noTokens}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.tokens}</caption>
          <thead>
            <tr>
              <th scope="col">{messages.common.name}</th>
              <th scope="col">{messages.common.status}</th>
              <th scope="col">{text.lastUsed}</th>
              <th scope="col">{messages.common.created}</th>
              <td></td>
            </tr>
          </thead>
          <tbody>
            {tokens.map((token) => (
              <TokenRow {...props} token={token} path={path} />
            ))}
          </tbody>
        </table>
      )}
      <form class="row-form" method="post" action={path}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-mint`} />
        <TextField
          view={view}
          name="token_name"
          label={text.tokenName}
          value={form?.values.token_name ?? ""}
          hint={text.tokenNameHint}
          problems={form?.problems ?? noProblems}
          required
          maxlength={100}
        />
        <button type="submit" class="button">
          {text.mint}
        </button>
      </form>
    </section>
  );
}

function TokenRow(props: Props & { readonly token: Token; readonly path: string }) {
  const { view, token, path, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.regionAdmin;
  const ended = endOf(token, view.now);
  return (
    <tr id={token.id}>
      <th scope="row">
        {token.name}
        <div class="hint mono breakable">{token.prefix}…</div>
      </th>
      <td data-label={messages.common.status}>
        {ended === "revoked" ? (
          <Status tone="idle">{text.revoked}</Status>
        ) : ended === "expired" ? (
          <Status tone="idle">{text.expired}</Status>
        ) : token.expires_at === null ? (
          <Status tone="good">{text.valid}</Status>
        ) : (
          <Status tone={expiresSoon(token, view.now, warnedDays) ? "warning" : "good"}>
            {text.until} <When view={view} time={token.expires_at} />
          </Status>
        )}
      </td>
      <td data-label={text.lastUsed}>
        {token.last_used_at === null ? text.never : <When view={view} time={token.last_used_at} />}
      </td>
      <td data-label={messages.common.created}>
        <When view={view} time={token.created_at} />
      </td>
      <td class="row-act">
        {ended !== null ? null : (
          <div class="act-group">
            <details class="confirm">
              <summary class="button" aria-label={text.rotateNamed(token.name)}>
                {text.rotate}
              </summary>
              <form method="post" action={`${path}/${token.id}/rotate`}>
                <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rotate-${token.id}`} />
                <SelectField
                  id={`overlap-${token.id}`}
                  name="overlap_seconds"
                  label={text.overlap}
                  value={String(usualOverlap)}
                  options={overlapSeconds.map((seconds) => ({
                    value: String(seconds),
                    label: seconds === 0 ? text.overlapNone : view.format.duration(seconds * 1000),
                  }))}
                  problems={noProblems}
                />
                <button type="submit" class="button" data-kind="primary">
                  {text.rotate}
                </button>
              </form>
            </details>
            <details class="confirm">
              <summary class="button" aria-label={text.revokeNamed(token.name)}>
                {text.revoke}
              </summary>
              <form method="post" action={`${path}/${token.id}/revoke`}>
                <FormSeal view={view} idempotencyKey={`${idempotencyKey}-revoke-${token.id}`} />
                <p>
                  <strong>{text.revokeQuestion(token.name)}</strong>
                </p>
                <p class="hint">{text.revokeHint}</p>
                <button type="submit" class="button" data-kind="danger">
                  {text.revoke}
                </button>
              </form>
            </details>
          </div>
        )}
      </td>
    </tr>
  );
}
