import { Icon } from "./icons.tsx";
import { columnsOf, type ListId, rowCountsOf, rowsOf, shownColumns } from "./list-choices.ts";
import type { Columns } from "./list-table.tsx";
import { FormSeal } from "./parts.tsx";
import type { View } from "./view.ts";

/** The page size and the visible columns of a list; this browser remembers both. */
export function ListView<List extends ListId>(props: {
  readonly view: View;
  readonly list: List;
  /** Only their labels matter here. */
  readonly columns: Columns<List, never>;
  readonly without?: readonly string[];
}) {
  const { view, list, columns, without = [] } = props;
  const text = view.messages.listView;
  const shown: readonly string[] = shownColumns(view.lists, list);
  const rows = rowsOf(view.lists, list);
  const choosable = columnsOf(list).filter((column) => !without.includes(column));
  return (
    <details class="menu list-view" id={`view-${list}`}>
      <summary class="button">
        <Icon name="sliders" size={17} />
        {text.title}
      </summary>
      <form class="menu-body" method="post" action="/preferences">
        <FormSeal view={view} />
        <input type="hidden" name="return_to" value={view.path} />
        <input type="hidden" name="list" value={list} />
        {rowCountsOf(list).length === 0 ? null : (
          <label class="list-rows">
            <span>{text.rows}</span>
            <select name="rows">
              {rowCountsOf(list).map((count) => (
                <option value={String(count)} selected={count === rows}>
                  {view.format.number(count)}
                </option>
              ))}
            </select>
          </label>
        )}
        {choosable.length === 0 ? null : (
          <fieldset>
            <legend>{text.columns}</legend>
            {without.map((column) =>
              // A column that this page does not show keeps its setting from the page that shows it.
              shown.includes(column) ? <input type="hidden" name="columns" value={column} /> : null,
            )}
            {choosable.map((column) => (
              <label class="check">
                <input type="checkbox" name="columns" value={column} checked={shown.includes(column)} />
                <span>{columns[column].label}</span>
              </label>
            ))}
          </fieldset>
        )}
        <div class="list-view-acts">
          <button type="submit" class="button" data-kind="primary">
            {text.apply}
          </button>
          <button type="submit" class="button" name="intent" value="reset">
            {text.reset}
          </button>
        </div>
      </form>
    </details>
  );
}
