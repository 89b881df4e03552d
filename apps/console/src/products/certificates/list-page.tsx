import type { Schemas } from "@kule/contract/schemas";
import { LabelTags } from "../../layout/labels.tsx";
import { listParameters } from "../../layout/list-query.ts";
import { type Columns, ListTable } from "../../layout/list-table.tsx";
import { ListView } from "../../layout/list-view.tsx";
import { Status, When } from "../../layout/parts.tsx";
import { ResourceListPage } from "../../resources/list-page.tsx";
import { listPath, pageOf } from "../../resources/resource.ts";
import { may } from "../../session.ts";
import { selectColumn } from "../selected/selection-part.tsx";
import { DaysLeft } from "./days-left-part.tsx";
import type { CertificatesPageProps } from "./props.ts";
import { certificates } from "./resource.ts";
import { selectedCertificates } from "./selected.tsx";
import { certificateTones } from "./status.ts";

/** A certificate may have a hundred names; its page has all of them. */
const namesShown = 3;

export function CertificatesPage(props: CertificatesPageProps) {
  const { view } = props;
  const { session } = view;
  return (
    <ResourceListPage
      {...props}
      resource={certificates}
      found={props.certificates}
      options={<ListView view={view} list="certificates" columns={certificateColumns(props)} />}
      selected={selectedCertificates}
      mayCreate={session === null || may(session, "certificate:create")}
    >
      <CertificateTable {...props} />
    </ResourceListPage>
  );
}

function certificateColumns({
  view,
}: CertificatesPageProps): Columns<"certificates", Schemas["Certificate"]> {
  const { messages, format } = view;
  const text = messages.certificates;
  return {
    type: { label: text.type, cell: ({ type }) => text.types[type] },
    names: {
      label: text.names,
      class: "mono anywhere",
      // One element: on a phone the parts of a cell are columns.
      cell: ({ domain_names }) => (
        <span>
          {domain_names.slice(0, namesShown).join(", ")}
          {domain_names.length <= namesShown ? null : (
            <span class="hint"> {text.moreNames(format.number(domain_names.length - namesShown))}</span>
          )}
        </span>
      ),
    },
    status: {
      label: messages.common.status,
      cell: ({ status }) => <Status tone={certificateTones[status]}>{text.status[status]}</Status>,
    },
    days: { label: text.daysLeft, cell: ({ days_left }) => <DaysLeft view={view} days={days_left} /> },
    used_by: {
      label: text.usedBy,
      cell: ({ used_by }) =>
        used_by.length === 0 ? "–" : text.listeners(used_by.length, format.number(used_by.length)),
    },
    region: { label: messages.common.region, cell: ({ region }) => region },
    created: {
      label: messages.common.created,
      sort: "created_at",
      cell: ({ created_at }) => <When view={view} time={created_at} />,
    },
  };
}

function CertificateTable(props: CertificatesPageProps) {
  const { view, query } = props;
  const { messages } = view;
  const page = listPath(certificates);
  return (
    <ListTable
      view={view}
      {...selectColumn(view, selectedCertificates)}
      list="certificates"
      caption={messages.certificates.title}
      items={props.certificates.items}
      name={{
        label: messages.common.name,
        sort: "name",
        cell: (certificate) => (
          <>
            <a href={pageOf(certificates, certificate)}>{certificate.name}</a>
            <LabelTags labels={certificate.labels} list={page} />
          </>
        ),
      }}
      columns={certificateColumns(props)}
      sorted={{ page, parameters: listParameters(query), sort: query.sort }}
      row={({ id, status }) => ({ id, "data-tone": certificateTones[status] })}
    />
  );
}
