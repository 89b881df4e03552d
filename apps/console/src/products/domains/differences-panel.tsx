import { ActionButton, Offered } from "../../layout/action-button.tsx";
import { FormSeal, When } from "../../layout/parts.tsx";
import { pageOf } from "../../resources/resource.ts";
import { SideCell } from "./changes-table.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { DomainTabProps } from "./props.ts";
import { domains } from "./resource.ts";

/** What the name servers have that Kule does not, or the other way round, and the button that puts it right. */
export function Differences({ view, domain, idempotencyKey }: DomainTabProps) {
  const { messages, format } = view;
  const text = messages.domains.drift;
  const { drift } = domain;
  return (
    <section class="panel" id="drift" aria-labelledby="drift-title">
      <div class="panel-head">
        <h2 id="drift-title">{text.title}</h2>
        {drift === null ? null : (
          <span class="hint">
            {text.found} <When view={view} time={drift.found_at} />
          </span>
        )}
      </div>
      <p class="panel-lead">{drift === null ? text.same : text.lead}</p>
      {drift === null ? null : (
        <table class="list changes-list">
          <caption class="visually-hidden">{text.title}</caption>
          <thead>
            <tr>
              <th scope="col" class="record-name">
                {messages.domains.record.name}
              </th>
              <th scope="col">{text.kind}</th>
              <th scope="col">{text.wanted}</th>
              <th scope="col">{text.there}</th>
            </tr>
          </thead>
          <tbody>
            {drift.differences.map(({ kind, name, type, wanted, found }) => (
              <tr>
                <th scope="row" class="record-name anywhere">
                  <span class="mono">{name}</span>
                  <span class="tag mono">{type}</span>
                </th>
                <td data-label={text.kind}>{text.kinds[kind]}</td>
                <SideCell view={view} label={text.wanted} side={wanted} />
                <SideCell view={view} label={text.there} side={found} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {drift === null || drift.left_out === 0 ? null : (
        <p class="hint">{text.leftOut(format.number(drift.left_out))}</p>
      )}
      <Offered view={view} permission="domain:update">
        <form class="acts" method="post" action={`${pageOf(domains, domain)}/apply`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-apply`} />
          <ActionButton
            why={disabledReason(view, domain, "apply")}
            {...(drift === null ? {} : { kind: "primary" as const })}
          >
            {drift === null ? text.reapply : text.apply}
          </ActionButton>
        </form>
      </Offered>
    </section>
  );
}
