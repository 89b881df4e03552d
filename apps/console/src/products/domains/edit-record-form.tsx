import { notAllowed } from "../../layout/action-button.tsx";
import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import { InPlaceLink } from "./in-place-part.tsx";
import type { RecordsProps } from "./props.ts";
import { recordsAddress, recordTypes } from "./record-query.ts";
import { type RecordValues, recordFields, valuesOf } from "./record-values.ts";
import { ShownFilters } from "./shown-filters-part.tsx";

const nothing: RecordValues = { name: "", type: "A", ttl: "", values: "", server: "", comment: "" };

/** The form of one record set: of a new one, or of the one that is edited, which it can also delete. */
export function EditRecord(props: RecordsProps & { readonly page: string }) {
  const { view, domain, query, page, edited, servers, idempotencyKey } = props;
  const { messages } = view;
  const text = messages.domains.record;
  const form = refusedForm(props.form, "record");
  const problems = form?.problems ?? noProblems;
  const values: RecordValues = { ...(edited === null ? nothing : valuesOf(edited)), ...form?.values };
  const isNew = edited === null;
  // A refused form stands somewhere in a long table: the first wrong field brings it into view.
  const wrong = recordFields.find((field) => problems[field] !== undefined);
  const isFirst = (field: (typeof recordFields)[number]) => field === wrong;
  return (
    <form
      id="record"
      class="record-form"
      method="post"
      action={`${page}/records${isNew ? "" : "/change"}`}
      novalidate
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-record`} />
      <ShownFilters query={query} />
      {isNew ? null : (
        <>
          <input type="hidden" name="of_name" value={edited.name} />
          <input type="hidden" name="of_type" value={edited.type} />
          <input type="hidden" name="etag" value={edited.etag} />
        </>
      )}
      <h2>{isNew ? text.add : text.editing(edited.name, edited.type)}</h2>
      {edited?.managed_by == null ? null : (
        <p class="hint">
          {text.managedBy(edited.managed_by)}. {text.managedByHint}
        </p>
      )}
      <div class="record-line">
        <TextField
          view={view}
          name="name"
          label={text.name}
          value={values.name}
          hint={text.nameHint(domain.unicode_name)}
          problems={problems}
          autofocus={isFirst("name") || (isNew && form === null)}
          mono
          maxlength={255}
          attributes={{ placeholder: "@" }}
        />
        <SelectField
          id="record-type"
          name="type"
          label={text.type}
          value={values.type}
          options={recordTypes.map((type) => ({ value: type, label: text.types[type] }))}
          problems={problems}
        />
        <TextField
          view={view}
          name="ttl"
          label={text.ttl}
          value={values.ttl}
          hint={text.ttlDefault(view.format.number(domain.ttl))}
          problems={problems}
          autofocus={isFirst("ttl")}
          optional
          mono
          maxlength={6}
          attributes={{ inputmode: "numeric", placeholder: String(domain.ttl) }}
        />
      </div>
      <TextField
        view={view}
        name="values"
        label={text.values}
        value={values.values}
        hint={text.valuesHint}
        problems={problems}
        autofocus={isFirst("values") || (!isNew && form === null)}
        mono
        rows={rowsFor(values.values)}
        attributes={{ placeholder: "192.0.2.10" }}
      />
      {notAllowed(view, "server:read") !== null || servers.length === 0 ? null : (
        <SelectField
          name="server"
          label={text.server}
          value={values.server}
          prompt={text.serverNone}
          options={servers.map(({ id, name }) => ({ value: id, label: name }))}
          hint={text.serverHint}
          problems={problems}
        />
      )}
      <TextField
        view={view}
        name="comment"
        label={text.comment}
        value={values.comment}
        problems={problems}
        optional
        maxlength={500}
      />
      <div class="record-form-acts">
        <button type="submit" class="button" data-kind="primary">
          {text.save}
        </button>
        <InPlaceLink address={recordsAddress(page, query)}>{messages.common.cancel}</InPlaceLink>
        {isNew ? null : (
          <button
            type="submit"
            class="button record-delete"
            data-kind="danger"
            formaction={`${page}/records/delete`}
          >
            <Icon name="cross" size={16} />
            {text.delete}
          </button>
        )}
      </div>
    </form>
  );
}

/** Characters of a long value that a line of the field holds on a desktop. */
const lineLength = 100;

/** As many rows as the values need, with one to type in; a key does not fill the screen. */
function rowsFor(values: string): number {
  const needed = values.split("\n").map((value) => Math.max(1, Math.ceil(value.length / lineLength)));
  return Math.min(
    12,
    needed.reduce((sum, lines) => sum + lines, 1),
  );
}
