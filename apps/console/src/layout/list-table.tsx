import type { Child } from "hono/jsx";
import { type ColumnOf, type ListId, shownColumns } from "./list-choices.ts";
import type { View } from "./view.ts";

/** The keys by which the API can sort a list. */
type SortKey = "name" | "created_at" | "region" | "address";

/** One column of a list: its head, and the cell of an item. */
export type Column<Item> = {
  readonly label: string;
  readonly sort?: SortKey;
  readonly class?: string;
  /** The cell explains itself, so that a phone shows no label before it. */
  readonly isPlain?: true;
  cell(item: Item): Child;
};

/** The columns that can be hidden, by their names. */
export type Columns<List extends ListId, Item> = { readonly [name in ColumnOf<List>]: Column<Item> };

/** The links of the heads of a sorted list: the same list with its filters, in another order. */
export type Sorted = {
  readonly page: string;
  /** The current address of the list. */
  readonly parameters: URLSearchParams;
  readonly sort: string;
};

/** A list as a table: the column that names its rows, the columns that this browser shows, and the actions of a row. */
export function ListTable<List extends ListId, Item>(props: {
  readonly view: View;
  readonly list: List;
  readonly items: readonly Item[];
  readonly class?: string;
  readonly caption?: string;
  /** The column that names a row, always the first. */
  readonly name: Column<Item>;
  readonly columns: Columns<List, Item>;
  /** Columns that are redundant where this table is shown. */
  readonly without?: readonly ColumnOf<List>[];
  readonly sorted?: Sorted;
  /** The row's id and state, and further attributes of its element. */
  row(item: Item): Readonly<Record<string, string | undefined>>;
  /** Before the name: a checkbox. */
  readonly box?: { readonly head: Child; cell(item: Item): Child };
  /** At the end: the actions of the row. */
  readonly acts?: { readonly head?: Child; readonly class: string; cell(item: Item): Child };
}) {
  const { view, list, items, name, columns, without = [], sorted, box, acts, caption } = props;
  const shown = shownColumns(view.lists, list)
    .filter((column) => !without.includes(column))
    .map((column) => columns[column]);
  return (
    <table class={props.class === undefined ? "list" : `list ${props.class}`}>
      {caption === undefined ? null : <caption class="visually-hidden">{caption}</caption>}
      <thead>
        <tr>
          {box === undefined ? null : (
            <th scope="col" class="choose">
              {box.head}
            </th>
          )}
          {[name, ...shown].map((column) => (
            <Head column={column} sorted={sorted} />
          ))}
          {acts === undefined ? null : <td class={acts.class}>{acts.head}</td>}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr {...props.row(item)}>
            {box === undefined ? null : <td class="choose">{box.cell(item)}</td>}
            <th scope="row" class={name.class}>
              {name.cell(item)}
            </th>
            {shown.map((column) => (
              <td class={column.class} data-label={column.isPlain ? undefined : column.label}>
                {column.cell(item)}
              </td>
            ))}
            {acts === undefined ? null : <td class={acts.class}>{acts.cell(item)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head<Item>({
  column,
  sorted,
}: {
  readonly column: Column<Item>;
  readonly sorted: Sorted | undefined;
}) {
  const { label, sort } = column;
  const isNumber = column.class?.split(" ").includes("number") ?? false;
  const aligned = isNumber ? "number" : undefined;
  if (sort === undefined || sorted === undefined)
    return (
      <th scope="col" class={aligned}>
        {label}
      </th>
    );
  const isUp = sorted.sort === sort;
  const isDown = sorted.sort === `-${sort}`;
  // The first click sorts as people usually want: names from A on, dates from the newest. The second click reverses it.
  const next = isUp || (sort === "created_at" && !isDown) ? `-${sort}` : sort;
  const parameters = new URLSearchParams(sorted.parameters);
  // Another order has other pages, so the cursor is dropped.
  parameters.delete("cursor");
  if (next === "-created_at") parameters.delete("sort");
  else parameters.set("sort", next);
  return (
    <th scope="col" class={aligned} aria-sort={isUp ? "ascending" : isDown ? "descending" : undefined}>
      <a href={parameters.size === 0 ? sorted.page : `${sorted.page}?${parameters}`}>{label}</a>
    </th>
  );
}
