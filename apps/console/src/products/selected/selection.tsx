import type { View } from "../../layout/view.ts";
import { offeredActs, type SelectedKind } from "./selected-kind.ts";

/** The form that the boxes of the list belong to. It stands outside of the part that refreshes by itself. */
const formId = "selected";

/** A row's box. */
export function SelectBox(props: { readonly view: View; readonly id: string; readonly name: string }) {
  const { view, id, name } = props;
  return (
    <input
      type="checkbox"
      id={`choose-${id}`}
      name="ids"
      value={id}
      form={formId}
      aria-label={view.messages.selection.choose(name)}
    />
  );
}

/** The box that stands for all of the page; it needs the script. */
export function SelectAll({ view }: { readonly view: View }) {
  return (
    <input
      type="checkbox"
      class="with-script"
      data-choose-all={formId}
      aria-label={view.messages.selection.chooseAll}
    />
  );
}

/** The boxes of a table, where its kind has an act that the role may ask for. */
export function selectColumn<Item extends object, Act extends string>(
  view: View,
  kind: SelectedKind<Item, Act>,
) {
  if (offeredActs(view, kind).length === 0) return {};
  return {
    box: {
      head: <SelectAll view={view} />,
      cell: (item: Item) => <SelectBox view={view} {...kind.nameOf(item)} />,
    },
  };
}

/** What to do with what is chosen. Leads to the page that shows what would happen. */
export function SelectionBar<Item, Act extends string>(props: {
  readonly view: View;
  readonly kind: SelectedKind<Item, Act>;
  /** What the list shows. */
  readonly items: readonly Item[];
}) {
  const { view, kind, items } = props;
  const { selection: text } = view.messages;
  const offered = offeredActs(view, kind);
  if (offered.length === 0 || items.length === 0) return null;
  const { acts } = kind.texts(view.messages);
  return (
    <form id={formId} class="selection-bar" method="get" action={`${kind.page}/selected`}>
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
