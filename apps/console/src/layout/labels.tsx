import { keptForm, type RefusedForm, refusedForm } from "../refused-form.ts";
import { type AnyItem, pageOf, type Resource } from "../resources/resource.ts";
import { ActionButton } from "./action-button.tsx";
import { noProblems, Problem, TextField } from "./fields.tsx";
import { Icon } from "./icons.tsx";
import { FormSeal } from "./parts.tsx";
import type { View } from "./view.ts";

type Labels = Readonly<Record<string, string>>;

export type Labelled = AnyItem & { readonly labels: Labels };

export type EditProps<Item extends Labelled> = {
  readonly view: View;
  readonly resource: Resource<Item>;
  readonly item: Item;
  /** Set where the page has several labels editors; it is part of their ids and names. */
  readonly isOneOfMany?: true;
  /** Why they cannot be changed. */
  readonly why: string | null;
  readonly form: RefusedForm | null;
  readonly idempotencyKey: string;
};

type RowProps = Pick<EditProps<Labelled>, "view" | "why" | "form" | "idempotencyKey"> & {
  readonly action: string;
  /** The form's key on the page. */
  readonly of: string;
};

const sorted = (labels: Labels) => Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));

/** Labels as tags. Where the product has a list page, each tag links to the list filtered by it. */
export function LabelTags({ labels, list }: { readonly labels: Labels; readonly list?: string }) {
  const entries = sorted(labels).map(([key, value]) => (value === "" ? key : `${key}=${value}`));
  if (entries.length === 0) return null;
  return (
    <span class="tags">
      {entries.map((text) =>
        list === undefined ? (
          <span class="tag mono anywhere">{text}</span>
        ) : (
          <a class="tag mono" href={`${list}?${new URLSearchParams({ labels: text })}`}>
            {text}
          </a>
        ),
      )}
    </span>
  );
}

/** Labels among the facts of a resource. */
export function LabelsFact(props: { readonly view: View; readonly labels: Labels; readonly list?: string }) {
  const { messages } = props.view;
  const { labels, list } = props;
  return (
    <div>
      <dt>{messages.labels.title}</dt>
      <dd>
        {Object.keys(labels).length === 0 ? (
          messages.common.none
        ) : (
          <LabelTags labels={labels} {...(list === undefined ? {} : { list })} />
        )}
      </dd>
    </div>
  );
}

/**
 * The labels editor: one form for each label, and one for a new label. Each form changes one label and leaves the
 * others in their current state, so two people who change different labels do not undo each other's change.
 */
export function LabelForms<Item extends Labelled>(props: EditProps<Item>) {
  const { view, resource, item, why, form, idempotencyKey } = props;
  const row: RowProps = {
    view,
    action: `${pageOf(resource, item)}/labels`,
    of: formOf(props),
    why,
    form,
    idempotencyKey,
  };
  return (
    <>
      {sorted(item.labels).map(([key, value]) => (
        <LabelRow {...row} labelKey={key} value={value} />
      ))}
      <AddLabel {...row} />
    </>
  );
}

/** The labels editor in a row of a list, closed until it is needed. */
export function EditLabels<Item extends Labelled>(props: EditProps<Item>) {
  const { view, resource, item, isOneOfMany } = props;
  const texts = view.messages.labels;
  const of = formOf(props);
  return (
    <details class="add-inline edit-labels" id={`edit-${of}`} open={refusedForm(props.form, of) !== null}>
      <summary aria-label={isOneOfMany ? texts.editOf(resource.nameOf(item)) : undefined}>
        <Icon name="tag" size={15} />
        {texts.edit}
      </summary>
      <LabelForms {...props} />
    </details>
  );
}

/** The key of the labels editor's forms on its page. */
const formOf = ({ item, isOneOfMany }: Pick<EditProps<Labelled>, "item" | "isOneOfMany">) =>
  isOneOfMany ? `labels-${item.id}` : "labels";

/** The refused form, if it was this label's; the form for a new label has no key of its own. */
function refusedFor(form: RefusedForm | null, of: string, key: string | null): RefusedForm | null {
  const refused = refusedForm(form, of);
  const isRow = refused?.values.row === "true";
  return refused !== null && (key === null ? !isRow : isRow && refused.values.key === key) ? refused : null;
}

function LabelRow(props: RowProps & { readonly labelKey: string; readonly value: string }) {
  const { view, action, of, labelKey, value, why, idempotencyKey } = props;
  const texts = view.messages.labels;
  const refused = refusedFor(props.form, of, labelKey);
  const wrong = refused?.problems.value ?? refused?.problems.key;
  const id = `${of}-${labelKey}`;
  return (
    <form class="label-row" method="post" action={action} {...keptForm(refused, of)}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${of}-${labelKey}`} />
      <input type="hidden" name="key" value={labelKey} />
      <input type="hidden" name="row" value="true" />
      <div class="field" data-invalid={wrong === undefined ? undefined : "true"}>
        <label class="mono" for={id}>
          {labelKey}
        </label>
        <input
          id={id}
          class="mono"
          type="text"
          name="value"
          value={refused?.values.value ?? value}
          maxlength={63}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          disabled={why !== null}
          aria-describedby={wrong === undefined ? undefined : `${id}-problem`}
        />
        <Problem name={id} problems={wrong} />
      </div>
      <button type="submit" class="button" name="intent" value="set" disabled={why !== null}>
        {texts.save}
      </button>
      <button
        type="submit"
        class="button"
        name="intent"
        value="remove"
        aria-label={texts.removeNamed(labelKey)}
        disabled={why !== null}
      >
        {texts.remove}
      </button>
    </form>
  );
}

function AddLabel({ view, action, of, form, why, idempotencyKey }: RowProps) {
  const texts = view.messages.labels;
  const refused = refusedFor(form, of, null);
  const problems = refused?.problems ?? noProblems;
  return (
    <form class="label-row" method="post" action={action} {...keptForm(refused, of)}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${of}`} />
      <TextField
        view={view}
        id={`${of}--key`}
        name="key"
        label={texts.key}
        value={refused?.values.key ?? ""}
        problems={problems}
        autofocus={refused !== null}
        required
        mono
        maxlength={317}
        attributes={{ placeholder: "role" }}
      />
      <TextField
        view={view}
        id={`${of}--value`}
        name="value"
        label={texts.value}
        value={refused?.values.value ?? ""}
        problems={problems}
        optional
        mono
        maxlength={63}
        attributes={{ placeholder: "web" }}
      />
      <ActionButton why={why} name="intent" value="set">
        {texts.add}
      </ActionButton>
      <p class="hint">{texts.hint}</p>
    </form>
  );
}
