import type { View } from "../../layout/view.ts";
import { type AnyItem, listPath } from "../../resources/resource.ts";
import { offeredActions, type SelectedKind } from "./kind.ts";

/** The id of the form that the checkboxes of a list belong to. It is outside of the part that refreshes by itself. */
export const selectionForm = "selected";

/** A row's checkbox. */
export function SelectBox(props: { readonly view: View; readonly id: string; readonly name: string }) {
  const { view, id, name } = props;
  return (
    <input
      type="checkbox"
      id={`choose-${id}`}
      name="ids"
      value={id}
      form={selectionForm}
      aria-label={view.messages.selection.choose(name)}
    />
  );
}

/** The checkbox for the whole page; it needs the script. */
export function SelectAll({ view }: { readonly view: View }) {
  return (
    <input
      type="checkbox"
      class="with-script"
      data-choose-all={selectionForm}
      aria-label={view.messages.selection.chooseAll}
    />
  );
}

/** The checkboxes of a table, if its kind has an action that the role may use. */
export function selectColumn<Item extends AnyItem, Act extends string>(
  view: View,
  kind: SelectedKind<Item, Act>,
) {
  if (offeredActions(view, kind).length === 0) return {};
  return {
    box: {
      head: <SelectAll view={view} />,
      cell: (item: Item) => <SelectBox view={view} id={item.id} name={kind.resource.nameOf(item)} />,
    },
  };
}

/** The bar with the actions for the selection. Each leads to the confirmation page. */
export function SelectionBar<Item extends AnyItem, Act extends string>(props: {
  readonly view: View;
  readonly kind: SelectedKind<Item, Act>;
  /** The rows that the list shows. */
  readonly items: readonly Item[];
}) {
  const { view, kind, items } = props;
  const { selection: text } = view.messages;
  const offered = offeredActions(view, kind);
  if (offered.length === 0 || items.length === 0) return null;
  const { acts } = kind.texts(view.messages);
  return (
    <form
      id={selectionForm}
      class="selection-bar"
      method="get"
      action={`${listPath(kind.resource)}/selected`}
    >
      <label>
        <span class="visually-hidden">{text.act}</span>
        <select name="act">
          {offered.map((act) => (
            <option value={act}>{acts[act]}</option>
          ))}
        </select>
      </label>
      <button type="submit" class="button">
        {text.go}
      </button>
      <p class="hint">{text.hint}</p>
    </form>
  );
}
