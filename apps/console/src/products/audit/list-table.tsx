import type { Schemas } from "@kule/contract/schemas";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { Status, type Tone, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { resourceAddress } from "../../resource-address.ts";
import { actionText } from "./action-text.ts";
import { type AuditQuery, addressOf } from "./list-query.ts";

type Entry = Schemas["AuditEntry"];

const tones: Readonly<Record<Entry["outcome"], Tone>> = {
  succeeded: "good",
  refused: "warning",
  failed: "bad",
};

type Trail = {
  readonly view: View;
  readonly query: AuditQuery;
  readonly base: string;
};

/** The trail of one organisation has no column for the organisation. */
export const withoutOrganisation = ["organisation"] as const;

export function auditColumns({ view, query, base }: Trail): Columns<"audit", Entry> {
  const text = view.messages.audit;
  return {
    at: { label: text.when, cell: ({ at }) => <When view={view} time={at} /> },
    actor: {
      label: text.who,
      cell: ({ actor: { id, name, type } }) =>
        id === null ? (
          text.kinds[type]
        ) : (
          <div class="breakable">
            <a href={narrowed(base, query, { actor: id })} title={text.onlyThis(name ?? id)}>
              {name ?? id}
            </a>
            <div class="hint">{text.kinds[type]}</div>
          </div>
        ),
    },
    source: {
      label: text.source,
      class: "mono breakable",
      cell: ({ source_address }) => source_address ?? "–",
    },
    resource: {
      label: text.on,
      class: "mono breakable",
      cell: ({ resource }) => <Resource id={resource} />,
    },
    organisation: {
      label: text.organisation,
      class: "mono breakable",
      cell: ({ organisation_id: id }) => (id === null ? "–" : <a href={`/organisations/${id}`}>{id}</a>),
    },
    outcome: {
      label: text.outcome,
      cell: ({ outcome }) => <Status tone={tones[outcome]}>{text.outcomes[outcome]}</Status>,
    },
    details: {
      label: text.details,
      isPlain: true,
      cell: (entry) => <Details view={view} entry={entry} />,
    },
  };
}

export function AuditTable(
  props: Trail & { readonly entries: readonly Entry[]; readonly showsOrganisation: boolean },
) {
  const { view, entries, query, base, showsOrganisation } = props;
  const { messages } = view;
  const text = messages.audit;
  return (
    <ListTable
      view={view}
      list="audit"
      class="audit"
      caption={text.title}
      items={entries}
      name={{
        label: text.what,
        cell: ({ action }) => (
          <>
            <a href={narrowed(base, query, { action })} title={text.onlyThis(actionText(messages, action))}>
              {actionText(messages, action)}
            </a>
            <div class="hint mono breakable">{action}</div>
          </>
        ),
      }}
      columns={auditColumns(props)}
      without={showsOrganisation ? [] : withoutOrganisation}
      row={({ id }) => ({ id })}
    />
  );
}

function narrowed(base: string, query: AuditQuery, change: Partial<AuditQuery>): string {
  return `${base}?${addressOf({ ...query, ...change })}`;
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
