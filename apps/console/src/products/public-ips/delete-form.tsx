import { ActionButton } from "../../layout/action-button.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { PublicIpTabProps } from "./props.ts";
import { publicIps } from "./resource.ts";

/** Releases the address: it is available to the organisation again. */
export function DeletePublicIp(props: PublicIpTabProps) {
  const { view, ip, idempotencyKey } = props;
  const text = view.messages.publicIps;
  const why = disabledReason(props, "delete");
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{view.messages.resourceTabs.danger}</h2>
      </div>
      <div class="danger-row">
        <div>
          <h3>{text.releaseNamed(ip.address)}</h3>
          <p class="hint">{text.releaseHint}</p>
        </div>
        {why === null ? (
          <details class="confirm">
            <summary class="button">{text.release}</summary>
            <form method="post" action={`${pageOf(publicIps, ip)}/delete`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-delete`} />
              <p>
                <strong>{text.releaseQuestion(ip.address)}</strong>
              </p>
              <button type="submit" class="button" data-kind="danger">
                {text.release}
              </button>
            </form>
          </details>
        ) : (
          <ActionButton why={why}>{text.release}</ActionButton>
        )}
      </div>
    </section>
  );
}
