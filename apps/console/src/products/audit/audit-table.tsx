import type { Schemas } from "@kule/contract/schemas";
import { Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { actionText } from "./action-text.ts";
import { type AuditQuery, addressOf } from "./audit-query.ts";
import { resourceAddress } from "./resource-address.ts";

type Entry = Schemas["AuditEntry"];

const tones: Readonly<Record<Entry["outcome"], Tone>> = {
  succeeded: "good",
  refused: "warning",
  failed: "bad",
};

export function AuditTable(props: {
  readonly view: View;
  readonly entries: readonly Entry[];
  readonly query: AuditQuery;
  readonly base: string;
  readonly showsOrganisation: boolean;
}) {
  const { view, entries, showsOrganisation } = props;
  const text = view.messages.audit;
  const narrowed = (change: Partial<AuditQuery>) =>
    `${props.base}?${addressOf({ ...props.query, ...change })}`;
  return (
    <table class="list audit">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.what}</th>
          <th scope="col">{text.when}</th>
          <th scope="col">{text.who}</th>
          <th scope="col">{text.on}</th>
          {showsOrganisation ? <th scope="col">{text.organisation}</th> : null}
          <th scope="col">{text.outcome}</th>
          <th scope="col">{text.details}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr id={entry.id}>
            <th scope="row">
              <a
                href={narrowed({ action: entry.action })}
                title={text.onlyThis(actionText(view.messages, entry.action))}
              >
                {actionText(view.messages, entry.action)}
              </a>
              <div class="hint mono breakable">{entry.action}</div>
            </th>
            <td data-label={text.when}>
              <When view={view} time={entry.at} />
            </td>
            <td data-label={text.who}>
              {entry.actor.id === null ? (
                text.kinds[entry.actor.type]
              ) : (
                <div class="breakable">
                  <a
                    href={narrowed({ actor: entry.actor.id })}
                    title={text.onlyThis(entry.actor.name ?? entry.actor.id)}
                  >
                    {entry.actor.name ?? entry.actor.id}
                  </a>
                  <div class="hint">{text.kinds[entry.actor.type]}</div>
                </div>
              )}
            </td>
            <td data-label={text.on} class="mono breakable">
              <Resource id={entry.resource} />
            </td>
            {showsOrganisation ? (
              <td data-label={text.organisation} class="mono breakable">
                {entry.organisation_id === null ? (
                  "–"
                ) : (
                  <a href={`/organisations/${entry.organisation_id}`}>{entry.organisation_id}</a>
                )}
              </td>
            ) : null}
            <td data-label={text.outcome}>
              <Status tone={tones[entry.outcome]}>{text.outcomes[entry.outcome]}</Status>
            </td>
            <td>
              <Details view={view} entry={entry} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Resource({ id }: { readonly id: string | null }) {
  if (id === null) return "–";
  const address = resourceAddress(id);
  return address === null ? id : <a href={address}>{id}</a>;
}

function Details({ view, entry }: { readonly view: View; readonly entry: Entry }) {
  const text = view.messages.audit;
  const facts: readonly (readonly [string, string | null])[] = [
    [text.status, String(entry.http_status)],
    [text.code, entry.code],
    [text.fromApi, entry.source_address],
    [text.request, entry.request_id],
  ];
  return (
    <details class="audit-details">
      <summary class="audit-more">
        {text.details} <span class="visually-hidden">{actionText(view.messages, entry.action)}</span>
      </summary>
      <dl>
        {facts.map(([label, value]) =>
          value === null ? null : (
            <div>
              <dt>{label}</dt>
              <dd class="mono breakable">{value}</dd>
            </div>
          ),
        )}
      </dl>
      {Object.keys(entry.details).length === 0 ? null : (
        <>
          <p class="hint">{text.asked}</p>
          <pre tabindex={0}>{JSON.stringify(entry.details, null, 2)}</pre>
        </>
      )}
    </details>
  );
}
