import type { KnownTables } from "./compatibility-faults.ts";

const tablesOf = (source: string): ReadonlyMap<string, string> =>
  new Map(
    [
      ...(/export interface DB \{([^}]*)\}/.exec(source)?.[1] ?? "").matchAll(/^ {2}"?([\w.]+)"?: (\w+);$/gm),
    ].map(([, table = "", type = ""]) => [table, type]),
  );

const interfaceOf = (type: string) => new RegExp(`export interface ${type} \\{\\n([^}]*)\\}\\n\\n?`);

/** The tables and columns that generated row types name. */
export function knownTables(source: string): KnownTables {
  return Object.fromEntries(
    [...tablesOf(source)].map(([table, type]): [string, string[]] => {
      const body = interfaceOf(type).exec(source)?.[1] ?? "";
      return [table, [...body.matchAll(/^ {2}(\w+): /gm)].map(([, column = ""]) => column)];
    }),
  );
}

/**
 * Row types without what is retired.
 *
 * @throws Error for a name that the database does not have
 */
export function withoutRetired(source: string, retired: readonly string[]): string {
  let types = source;
  for (const name of retired) {
    const [table = "", column] = name.split(".");
    const type = tablesOf(types).get(table);
    if (type === undefined) throw new Error(`retired.ts names ${name}, and there is no table ${table}`);
    const before = types;
    types =
      column === undefined
        ? types.replace(interfaceOf(type), "").replace(new RegExp(`^ {2}${table}: ${type};\\n`, "m"), "")
        : types.replace(interfaceOf(type), (whole) =>
            whole.replace(new RegExp(`^ {2}${column}: .*\\n`, "m"), ""),
          );
    if (types === before) throw new Error(`retired.ts names ${name}, and there is no such column`);
  }
  return types;
}
