import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Row } from "./row.ts";

const directory = join(import.meta.dirname, "rows");

/** Files of rows by their id, from `rows/a05-zombie-agent.ts` and the like. */
export function rowFiles(): Map<string, string> {
  const files = globSync("[a-h][0-9][0-9]-*.ts", { cwd: directory }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  return new Map(files.sort().map((file) => [idOf(file), join(directory, file)]));
}

/** "a05-zombie-agent.ts" is row A5. */
function idOf(file: string): string {
  const [prefix = ""] = basename(file).split("-");
  return `${prefix.charAt(0).toUpperCase()}${Number(prefix.slice(1))}`;
}

/** @throws Error that lists the rows there are when there is none of this name */
export async function loadRow(id: string): Promise<Row> {
  const files = rowFiles();
  const file = files.get(id);
  if (file === undefined)
    throw new Error(`there is no row ${id}; there are: ${[...files.keys()].join(", ")}`);
  const { row } = (await import(pathToFileURL(file).href)) as { row?: Row };
  if (row?.id !== id) throw new Error(`${file} exports no row ${id}`);
  return row;
}

export async function loadRows(): Promise<Row[]> {
  return Promise.all([...rowFiles().keys()].map(loadRow));
}
