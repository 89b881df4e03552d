import type { Schemas } from "@kule/contract/schemas";
import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { Copyable, FormSeal, When } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { disabledReason } from "./disabled-reason.ts";
import { NameServerList } from "./name-servers-panel.tsx";
import type { DelegationProps } from "./props.ts";
import { domains } from "./resource.ts";

/** The two ways to prove a domain, what was seen of them, and a button that looks now. */
export function ProveDomain(
  props: DelegationProps & { readonly verification: NonNullable<Schemas["Domain"]["verification"]> },
) {
  const { view, domain, verification, idempotencyKey } = props;
  const text = view.messages.domains.prove;
  const { record, name_servers, expires_at, checked_at, seen } = verification;
  const isByParent = domain.verified_by === "parent";
  return (
    <section class="panel" id="prove" aria-labelledby="prove-title">
      <div class="panel-head">
        <h2 id="prove-title">{isByParent ? text.besideParent : text.title}</h2>
      </div>
      <p class="panel-lead">{isByParent ? text.besideParentLead : text.lead}</p>
      <div class="ways">
        <div class="way-to-prove">
          <h3>{text.record}</h3>
          <p class="hint">{text.recordHint}</p>
          <dl class="facts entered">
            <div>
              <dt>{text.recordType}</dt>
              <dd class="mono">{record.type}</dd>
            </div>
            <div>
              <dt>{text.recordName}</dt>
              <dd>
                <Copyable view={view} id="proof-name" text={record.name} />
              </dd>
            </div>
            <div>
              <dt>{text.recordValue}</dt>
              <dd>
                <Copyable view={view} id="proof-value" text={record.value} />
              </dd>
            </div>
          </dl>
        </div>
        <div class="way-to-prove">
          <h3>{text.delegate}</h3>
          <p class="hint">{text.delegateHint}</p>
          <NameServerList
            view={view}
            names={domain.name_servers.length === 0 ? name_servers : domain.name_servers}
          />
        </div>
      </div>
      <dl class="facts proof-state">
        <div>
          <dt>{text.checked}</dt>
          <dd>{checked_at === null ? text.never : <When view={view} time={checked_at} />}</dd>
        </div>
        {seen === null ? null : (
          <div class="fact-long">
            <dt>{text.seen}</dt>
            <dd class="anywhere" lang={text.notSeen === null ? "en" : undefined}>
              {text.notSeen === null ? seen : text.notSeen(record.name, name_servers.join(", "))}
            </dd>
          </div>
        )}
        {expires_at === null ? null : (
          <div>
            <dt>{text.expires}</dt>
            <dd>
              <When view={view} time={expires_at} />
            </dd>
          </div>
        )}
      </dl>
      <Offered view={view} permission="domain:update">
        <form class="acts" method="post" action={`${pageOf(domains, domain)}/verify`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-verify`} />
          <ActionButton why={disabledReason(view, domain, "verify")} kind="primary">
            {text.now}
          </ActionButton>
        </form>
      </Offered>
    </section>
  );
}
