import { ActButton } from "../../layout/act-button.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { PublicIpPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** The address goes back to those that the organisation may take. */
export function ReleasePublicIp(props: PublicIpPageProps) {
  const { view, ip, idempotencyKey } = props;
  const text = view.messages.publicIps;
  const why = whyNot(props, "delete");
  return (
    <section class="panel danger" id="danger" aria-labelledby="danger-title">
      <div class="panel-head">
        <h2 id="danger-title">{view.messages.resourceTabs.tabs.danger}</h2>
      </div>
      <div class="danger-row">
        <div>
          <h3>{text.releaseNamed(ip.address)}</h3>
          <p class="hint">{text.releaseHint}</p>
        </div>
        {why === null ? (
          <details class="confirm">
            <summary class="button">{text.release}</summary>
            <form method="post" action={`/public-ips/${ip.id}/release`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-release`} />
              <p>
                <strong>{text.releaseQuestion(ip.address)}</strong>
              </p>
              <button type="submit" class="button" data-kind="danger">
                {text.release}
              </button>
            </form>
          </details>
        ) : (
          <ActButton why={why}>{text.release}</ActButton>
        )}
      </div>
    </section>
  );
}
