export type Row = {
  readonly what: string;
  /** What we measured and what it is compared with, in the same unit. */
  readonly ours: string;
  readonly floor: string;
  readonly ratio: string;
  readonly aim: string;
  /** Null where there is nothing to compare with. */
  readonly reached: boolean | null;
};

/** The table of one run, aligned for a terminal. */
export function renderTable(rows: readonly Row[]): string {
  const head: Row = {
    what: "what",
    ours: "Kule",
    floor: "compared with",
    ratio: "ratio",
    aim: "aim",
    reached: null,
  };
  const columns = ["what", "ours", "floor", "ratio", "aim"] as const;
  const width = (column: (typeof columns)[number]) =>
    Math.max(...[head, ...rows].map((row) => row[column].length));
  const line = (row: Row, mark: string) =>
    `${mark} ${columns.map((column) => row[column].padEnd(width(column))).join("  ")}`.trimEnd();
  return [
    line(head, " "),
    ...rows.map((row) => line(row, row.reached === null ? " " : row.reached ? "✓" : "✗")),
  ].join("\n");
}
