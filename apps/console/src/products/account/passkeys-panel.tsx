import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { AccountPageProps } from "./props.ts";

/** The person's passkeys, by their names. */
export function PasskeysPanel({ view, security, idempotencyKey }: AccountPageProps) {
  const text = view.messages.account;
  return (
    <section class="panel" id="passkeys" aria-labelledby="passkeys-title">
      <div class="panel-head">
        <h2 id="passkeys-title">{text.passkeys}</h2>
        <a class="button" href="/account/passkeys/new">
          {text.addPasskey}
        </a>
      </div>
      <p class="panel-lead">{text.passkeysHint}</p>
      {security.passkeys.length === 0 ? null : (
        <table class="list">
          <caption class="visually-hidden">{text.passkeys}</caption>
          <thead>
            <tr>
              <th scope="col">{view.messages.common.name}</th>
              <th scope="col">{text.added}</th>
              <th scope="col">{text.lastUsed}</th>
              <td></td>
            </tr>
          </thead>
          <tbody>
            {security.passkeys.map((passkey) => (
              <PasskeyRow view={view} passkey={passkey} idempotencyKey={`${idempotencyKey}-${passkey.id}`} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function PasskeyRow(props: {
  readonly view: View;
  readonly passkey: Schemas["Passkey"];
  readonly idempotencyKey: string;
}) {
  const { view, passkey, idempotencyKey } = props;
  const text = view.messages.account;
  const fieldId = `name-${passkey.id}`;
  return (
    <tr id={passkey.id}>
      <th scope="row">
        {passkey.name}
        {passkey.is_synced ? <span class="tag">{text.synced}</span> : null}
        <details class="rename">
          <summary aria-label={text.renameNamed(passkey.name)}>
            <Icon name="pencil" size={14} />
            {text.rename}
          </summary>
          <form class="label-row" method="post" action={`/account/passkeys/${passkey.id}/rename`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rename`} />
            <div class="field">
              <label for={fieldId}>{view.messages.common.name}</label>
              <input
                id={fieldId}
                type="text"
                name="name"
                value={passkey.name}
                maxlength={60}
                autocomplete="off"
                required
              />
            </div>
            <button type="submit" class="button">
              {view.messages.labels.save}
            </button>
          </form>
        </details>
      </th>
      <td data-label={text.added}>
        <When view={view} time={passkey.created_at} />
      </td>
      <td data-label={text.lastUsed}>
        {passkey.last_used_at === null ? "–" : <When view={view} time={passkey.last_used_at} />}
      </td>
      <td class="row-act">
        <details class="confirm">
          <summary class="button" aria-label={text.removeNamed(passkey.name)}>
            {text.remove}
          </summary>
          <form method="post" action={`/account/passkeys/${passkey.id}/remove`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove`} />
            <p>
              <strong>{text.removeQuestion(passkey.name)}</strong>
            </p>
            <button type="submit" class="button" data-kind="danger">
              {text.remove}
            </button>
          </form>
        </details>
      </td>
    </tr>
  );
}
