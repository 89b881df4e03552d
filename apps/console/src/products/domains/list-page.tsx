import type { Schemas } from "@kule/contract/schemas";
import { Icon } from "../../layout/icons.tsx";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import type { DomainsPageProps } from "./props.ts";
import { domains } from "./resource.ts";
import { selectedDomains } from "./selected.tsx";
import { delegationTones, isProven, statusText, toneOf } from "./status.ts";

type Domain = Schemas["Domain"];

export function DomainsPage(props: DomainsPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={domains}
      found={props.domains}
      options={<ListView view={view} list="domains" columns={domainColumns(view)} />}
      selected={selectedDomains}
      mayCreate={session === null || may(session, "domain:create")}
    >
      <DomainTable {...props} />
    </ResourceListPage>
  );
}

function domainColumns(view: View): Columns<"domains", Domain> {
  const { messages, format } = view;
  const text = messages.domains;
  return {
    status: {
      label: messages.common.status,
      isPlain: true,
      cell: (domain) => <Status tone={toneOf(domain)}>{statusText(view, domain)}</Status>,
    },
    delegation: {
      label: text.delegation,
      cell: (domain) =>
        isProven(domain) ? (
          <Status tone={delegationTones[domain.delegation.state]}>
            {text.delegationStates[domain.delegation.state]}
          </Status>
        ) : (
          "–"
        ),
    },
    records: {
      label: text.records,
      class: "figures number",
      cell: ({ record_count }) => format.number(record_count),
    },
    dnssec: {
      label: text.dnssec,
      cell: ({ dnssec }) =>
        dnssec.enabled ? (
          <Status tone="good">{text.signed}</Status>
        ) : (
          <span class="hint">{text.notSigned}</span>
        ),
    },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function DomainTable(props: DomainsPageProps) {
  const { view, query } = props;
  const text = view.messages.domains;
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedDomains)}
      list="domains"
      caption={text.title}
      items={props.domains.items}
      name={{
        label: text.name,
        sort: "name",
        cell: (domain) => (
          <>
            <a class="breakable" href={pageOf(domains, domain)}>
              {domain.unicode_name}
            </a>
            {domain.protection.delete ? (
              <span class="lock" title={text.protected}>
                <Icon name="lock" size={14} />
                <span class="visually-hidden">{text.protected}</span>
              </span>
            ) : null}
            <LabelTags labels={domain.labels} list="/domains" />
          </>
        ),
      }}
      columns={domainColumns(view)}
      sorted={{ page: "/domains", parameters: listParameters(query), sort: query.sort }}
      row={(domain) => ({ id: domain.id, "data-tone": toneOf(domain) })}
    />
  );
}
