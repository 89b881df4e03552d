import type { Schemas } from "@kule/contract/schemas";
import { FormSeal, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { AccountPageProps } from "./props.ts";

/** The person's accounts at providers. Hidden where there is no provider to link and no linked account. */
export function IdentitiesPanel({ view, security, providers, idempotencyKey }: AccountPageProps) {
  const text = view.messages.identities;
  const { identities } = security;
  if (providers.length === 0 && identities.length === 0) return null;
  return (
    <section class="panel" id="identities" aria-labelledby="identities-title">
      <div class="panel-head">
        <h2 id="identities-title">{text.title}</h2>
        {providers.map(({ id, label }) => (
          <form method="post" action="/account/identities/link">
            <FormSeal view={view} />
            <input type="hidden" name="provider" value={id} />
            <button type="submit" class="button">
              {text.link(label)}
            </button>
          </form>
        ))}
      </div>
      <p class="panel-lead">{text.hint}</p>
      {identities.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <table class="list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col">{view.messages.common.name}</th>
              <th scope="col">{text.account}</th>
              <th scope="col">{text.linked}</th>
              <th scope="col">{view.messages.account.lastUsed}</th>
              <td></td>
            </tr>
          </thead>
          <tbody>
            {identities.map((identity) => (
              <IdentityRow
                view={view}
                identity={identity}
                idempotencyKey={`${idempotencyKey}-${identity.id}`}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function IdentityRow(props: {
  readonly view: View;
  readonly identity: Schemas["Identity"];
  readonly idempotencyKey: string;
}) {
  const { view, identity, idempotencyKey } = props;
  const text = view.messages.identities;
  const label = identity.provider?.label ?? identity.issuer;
  return (
    <tr id={identity.id}>
      <th scope="row">
        {label}
        {identity.provider === null ? <span class="tag">{text.goneProvider}</span> : null}
      </th>
      <td class="breakable" data-label={text.account}>
        {identity.email ?? text.unknownAccount}
      </td>
      <td data-label={text.linked}>
        <When view={view} time={identity.created_at} />
      </td>
      <td data-label={view.messages.account.lastUsed}>
        {identity.last_used_at === null ? "–" : <When view={view} time={identity.last_used_at} />}
      </td>
      <td class="row-act">
        <details class="confirm">
          <summary class="button" aria-label={text.unlinkNamed(label)}>
            {text.unlink}
          </summary>
          <form method="post" action={`/account/identities/${identity.id}/remove`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove`} />
            <p>
              <strong>{text.unlinkQuestion(label)}</strong>
            </p>
            <p class="hint">{text.unlinkHint}</p>
            <button type="submit" class="button" data-kind="danger">
              {text.unlink}
            </button>
          </form>
        </details>
      </td>
    </tr>
  );
}
