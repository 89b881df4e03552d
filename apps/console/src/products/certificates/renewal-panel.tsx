import type { Schemas } from "@kule/contract/schemas";
import { ActionButton, notAllowed, Offered } from "../../layout/action-button.tsx";
import { FormSeal, When } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import type { OverviewProps } from "./props.ts";
import { certificates } from "./resource.ts";
import { errorText } from "./status.ts";

/** When a managed certificate is issued anew, what went wrong at the last attempt, and a button that does it now. */
export function Renewal(props: OverviewProps & { readonly renewal: Schemas["CertificateRenewal"] }) {
  const { view, certificate, renewal, idempotencyKey } = props;
  const { format } = view;
  const text = view.messages.certificates.renewal;
  const { renew_at, next_attempt_at, failed_attempts, last_error } = renewal;
  const isIssued = certificate.version !== null;
  return (
    <section class="panel" id="renewal" aria-labelledby="renewal-title">
      <div class="panel-head">
        <h2 id="renewal-title">{isIssued ? text.title : text.first}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <dl class="facts">
        {renew_at === null ? null : (
          <div>
            <dt>{text.renewAt}</dt>
            <dd>
              <When view={view} time={renew_at} />
            </dd>
          </div>
        )}
        {next_attempt_at === null ? null : (
          <div>
            <dt>{text.nextAttempt}</dt>
            <dd>
              <When view={view} time={next_attempt_at} />
            </dd>
          </div>
        )}
        {failed_attempts === 0 ? null : (
          <div>
            <dt>{text.failedAttempts}</dt>
            <dd>{format.number(failed_attempts)}</dd>
          </div>
        )}
        {last_error === null ? null : <LastError view={view} error={last_error} />}
      </dl>
      <Offered view={view} permission="certificate:update">
        <form class="acts" method="post" action={`${pageOf(certificates, certificate)}/renew`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-renew`} />
          <ActionButton why={notAllowed(view, "certificate:update")}>
            {isIssued ? text.now : text.tryNow}
          </ActionButton>
        </form>
      </Offered>
    </section>
  );
}

function LastError({
  view,
  error,
}: Pick<OverviewProps, "view"> & { readonly error: Schemas["CertificateError"] }) {
  const text = view.messages.certificates.renewal;
  return (
    <>
      <div class="fact-long">
        <dt>{text.lastError}</dt>
        <dd>
          {error.domain_name === null ? null : (
            <>
              <span class="mono anywhere">{error.domain_name}</span>:{" "}
            </>
          )}
          {errorText(view, error)} <When view={view} time={error.at} />
        </dd>
      </div>
      {error.ca_text === null ? null : (
        <div class="fact-long">
          <dt>{text.caText}</dt>
          <dd class="anywhere" lang="en">
            {error.ca_text}
          </dd>
        </div>
      )}
    </>
  );
}
