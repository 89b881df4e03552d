import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { SelectAll, SelectBox } from "../selected/selection-part.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { EditRecord } from "./edit-record-form.tsx";
import { InPlaceLink } from "./in-place-part.tsx";
import type { RecordsProps } from "./props.ts";
import { recordKey, recordTitle } from "./record-key.ts";
import { recordsAddress } from "./record-query.ts";
import { followedServer } from "./record-values.ts";
import { ttlText } from "./ttl-text.ts";

/** More values are counted: a row must not fill the screen. */
const mostShown = 8;

/** The record sets of one page; the one that is edited is a form in its row. */
export function RecordTable(props: RecordsProps & { readonly page: string }) {
  const { view, domain, records, query, page, edited } = props;
  const text = view.messages.domains.record;
  const mayEdit = disabledReason(view, domain, "change") === null;
  return (
    <table class="list record-list">
      <caption class="visually-hidden">{text.title}</caption>
      <thead>
        <tr>
          {mayEdit ? (
            <th scope="col" class="choose">
              <SelectAll view={view} />
            </th>
          ) : null}
          <th scope="col" class="record-name">
            {text.name}
          </th>
          <th scope="col">{text.type}</th>
          <th scope="col">{text.ttl}</th>
          <th scope="col">{text.values}</th>
          {mayEdit ? <td class="row-act" /> : null}
        </tr>
      </thead>
      <tbody>
        {records.items.map((recordSet) => {
          const { name, type, ttl, fqdn } = recordSet;
          const isEdited = edited !== null && edited.name === name && edited.type === type;
          const id = `record-${type}-${name}`;
          if (isEdited && !query.isAdding)
            return (
              <tr class="record-edited" id={id}>
                <td colspan={mayEdit ? 6 : 4}>
                  <EditRecord {...props} />
                </td>
              </tr>
            );
          return (
            <tr id={id}>
              {mayEdit ? (
                <td class="choose">
                  <SelectBox view={view} id={recordKey(recordSet)} name={recordTitle(recordSet)} />
                </td>
              ) : null}
              <th scope="row" class="record-name mono anywhere" title={fqdn}>
                {name}
              </th>
              <td>
                <span class="tag mono">{type}</span>
              </td>
              <td class="record-ttl" data-label={text.ttl}>
                {ttlText(view, ttl)}
              </td>
              <td class="record-values" data-label={text.values}>
                <Values {...props} recordSet={recordSet} />
              </td>
              {mayEdit ? (
                <td class="row-act">
                  <InPlaceLink
                    address={recordsAddress(page, query, { edit: name, edit_type: type })}
                    label={text.editNamed(name, type)}
                  >
                    {text.edit}
                  </InPlaceLink>
                </td>
              ) : null}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function Values(
  props: Pick<RecordsProps, "view" | "servers"> & { readonly recordSet: Schemas["RecordSet"] },
) {
  const { view, servers, recordSet } = props;
  const text = view.messages.domains.record;
  const { values, addresses, comment, managed_by } = recordSet;
  const followed = followedServer(recordSet);
  const shown = followed === null ? values : (addresses ?? []);
  return (
    <ul class="values">
      {shown.slice(0, mostShown).map((value) => (
        <li class="mono anywhere">{value}</li>
      ))}
      {shown.length > mostShown ? (
        <li class="hint">{view.messages.networkMap.more(shown.length - mostShown)}</li>
      ) : null}
      {followed === null ? null : (
        <Note>
          {shown.length === 0 ? `${text.noAddress} · ` : ""}
          {text.follows}{" "}
          <a href={`/servers/${followed}`}>{servers.find(({ id }) => id === followed)?.name ?? followed}</a>
        </Note>
      )}
      {managed_by === null ? null : <Note>{text.managedBy(managed_by)}</Note>}
      {comment === "" ? null : <Note>{comment}</Note>}
    </ul>
  );
}

const Note = ({ children }: { readonly children?: Child }) => <li class="hint anywhere">{children}</li>;
