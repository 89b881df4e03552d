import type { Child } from "hono/jsx";
import { type ColumnOf, type ListId, shownColumns } from "./list-choices.ts";
import type { View } from "./view.ts";

/** What the API can sort a list by. */
type SortKey = "name" | "created_at" | "address";

/** One column of a list: its head, and what of an item stands in it. */
export type Column<Item> = {
  readonly label: string;
  readonly sort?: SortKey;
  readonly class?: string;
  /** Says by itself what it is, so that a phone has no label before it. */
  readonly isPlain?: true;
  cell(item: Item): Child;
};

/** The columns that can be left out, by their names. */
export type Columns<List extends ListId, Item> = { readonly [name in ColumnOf<List>]: Column<Item> };

/** Where the heads of a sorted list lead: the same list with its filters, in another order. */
export type Sorted = {
  readonly page: string;
  /** The list's address as it is. */
  readonly parameters: URLSearchParams;
  readonly sort: string;
};

/** A list as a table: what names its rows, the columns that this browser wants to see, and what acts on a row. */
export function ListTable<List extends ListId, Item>(props: {
  readonly view: View;
  readonly list: List;
  readonly items: readonly Item[];
  readonly class?: string;
  readonly caption?: string;
  /** What names a row, always the first that is read. */
  readonly name: Column<Item>;
  readonly columns: Columns<List, Item>;
  /** Columns that make no sense where this table stands. */
  readonly without?: readonly ColumnOf<List>[];
  readonly sorted?: Sorted;
  /** The row's id and state, beside what else its element says. */
  row(item: Item): Readonly<Record<string, string | undefined>>;
  /** Before the name: a box to tick. */
  readonly box?: { readonly head: Child; cell(item: Item): Child };
  /** At the end: what can be done with the row. */
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
  if (sort === undefined || sorted === undefined) return <th scope="col">{label}</th>;
  const isUp = sorted.sort === sort;
  const isDown = sorted.sort === `-${sort}`;
  // First what people look for: names from A on, the newest first. Then the other way round.
  const next = isUp || (sort === "created_at" && !isDown) ? `-${sort}` : sort;
  const parameters = new URLSearchParams(sorted.parameters);
  // Another order has other pages.
  parameters.delete("cursor");
  if (next === "-created_at") parameters.delete("sort");
  else parameters.set("sort", next);
  return (
    <th scope="col" aria-sort={isUp ? "ascending" : isDown ? "descending" : undefined}>
      <a href={parameters.size === 0 ? sorted.page : `${sorted.page}?${parameters}`}>{label}</a>
    </th>
  );
}
