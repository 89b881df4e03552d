import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { Copyable, FormSeal, Status } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { ResourcePage } from "../../resources/resource-page.tsx";
import { dnssecCalls } from "./calls.ts";
import { disabledReason } from "./disabled-reason.ts";
import { headedDomains } from "./head-part.tsx";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

/** Whether the domain is signed, the DS records for its registrar, and the button that switches it. */
export function DnssecPage(props: DomainTabProps) {
  const { view, domain, banner, idempotencyKey } = props;
  const text = view.messages.domains.sign;
  const { enabled, ds } = domain.dnssec;
  return (
    <ResourcePage
      view={view}
      resource={domains}
      item={domain}
      head={headedDomains.headOf(view, domain, idempotencyKey)}
      tab="dnssec"
      banner={banner}
      calls={dnssecCalls(domain)}
      live={{ seconds: domain.job_id === null ? 10 : 4, gone: "/domains?notice=gone" }}
    >
      <section class="panel" aria-labelledby="dnssec-title">
        <div class="panel-head">
          <h2 id="dnssec-title">{text.title}</h2>
          <Status tone={enabled ? "good" : "idle"}>{enabled ? text.on : text.off}</Status>
        </div>
        <p class="panel-lead">{text.lead}</p>
        {enabled ? (
          <>
            <h3>{text.ds}</h3>
            <p class="hint">{ds.length === 0 ? text.dsSoon : text.dsLead}</p>
            <dl class="facts entered">
              {ds.map((record, at) => (
                <div>
                  <dt>{text.dsNumber(String(at + 1))}</dt>
                  <dd>
                    <Copyable view={view} id={`ds-${at}`} text={record} />
                  </dd>
                </div>
              ))}
            </dl>
          </>
        ) : null}
      </section>
      <Offered view={view} permission="domain:update">
        <Switch {...props} />
      </Offered>
    </ResourcePage>
  );
}

/** Signing has no danger; ending it can take the domain off the Internet, so it says how. */
function Switch({ view, domain, idempotencyKey }: DomainTabProps) {
  const text = view.messages.domains.sign;
  const { enabled } = domain.dnssec;
  const why = disabledReason(view, domain, "set_dnssec");
  return (
    <section class={enabled ? "panel danger" : "panel"}>
      <form class="danger-row" method="post" action={`${pageOf(domains, domain)}/dnssec`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-dnssec`} />
        <input type="hidden" name="enabled" value={enabled ? "no" : "yes"} />
        <div>
          <h2>{enabled ? text.turnOff : text.turnOn}</h2>
          <p class="hint">{enabled ? text.turnOffLead : text.turnOnLead}</p>
          {enabled ? (
            <label class="check">
              <input type="checkbox" name="force" />
              <span>{text.force}</span>
            </label>
          ) : null}
        </div>
        <ActionButton why={why} kind={enabled ? "danger" : "primary"}>
          {enabled ? text.turnOff : text.turnOn}
        </ActionButton>
      </form>
    </section>
  );
}
