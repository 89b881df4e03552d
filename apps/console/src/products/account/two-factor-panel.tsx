import { FormSeal, Status, When } from "../../layout/parts.tsx";
import type { AccountPageProps } from "./props.ts";

/** The authenticator app and the recovery codes. */
export function TwoFactorPanel({ view, security, idempotencyKey }: AccountPageProps) {
  const text = view.messages.account;
  const { totp } = security;
  // Recovery codes also serve people who have passkeys only.
  const hasAny = totp !== null || security.passkeys.length > 0;
  return (
    <section class="panel" id="two-factor" aria-labelledby="two-factor-title">
      <div class="panel-head">
        <h2 id="two-factor-title">{text.twoFactor}</h2>
        <Status tone={hasAny ? "good" : "idle"}>{hasAny ? text.on : text.off}</Status>
      </div>
      <p class="panel-lead">{text.twoFactorHint}</p>
      {totp === null ? (
        <form method="post" action="/account/two-factor/begin">
          <FormSeal view={view} />
          <button type="submit" class="button" data-kind="primary">
            {text.setUpApp}
          </button>
        </form>
      ) : (
        <p>
          {text.turnedOn} <When view={view} time={totp.confirmed_at} />
        </p>
      )}
      {hasAny ? <p>{text.recoveryLeft(security.recovery_codes_left)}</p> : null}
      {hasAny ? (
        <div class="acts">
          <details class="confirm">
            <summary class="button">{text.newRecoveryCodes}</summary>
            <form method="post" action="/account/recovery-codes">
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-codes`} />
              <p>{text.newRecoveryQuestion}</p>
              <button type="submit" class="button" data-kind="primary">
                {text.newRecoveryCodes}
              </button>
            </form>
          </details>
          {totp === null ? null : (
            <details class="confirm">
              <summary class="button">{text.removeApp}</summary>
              <form method="post" action="/account/two-factor/remove">
                <FormSeal view={view} idempotencyKey={`${idempotencyKey}-remove-app`} />
                <p>
                  <strong>{text.removeAppQuestion}</strong>
                </p>
                <button type="submit" class="button" data-kind="danger">
                  {text.removeApp}
                </button>
              </form>
            </details>
          )}
        </div>
      ) : null}
    </section>
  );
}
