import type { Compilable, CompiledQuery } from "kysely";
import type { Database, Tx } from "./database.ts";

/** Where a parameter belongs in a compiled query: nothing that a caller passes begins with this character. */
const markerOf = (name: string) => `\u0000${name}`;

type Fixed = { readonly query: CompiledQuery; readonly names: readonly (string | null)[] };

/**
 * A read whose text is the same whatever its parameters are. It is built and compiled at its first use: for one server
 * that was a tenth of what the API computes for a request. The tenant guard checks it then, so its first use must be on
 * a database with the guard, which a `systemQuery` has not.
 *
 * @param names of the parameters, which the query has as values
 * @param build the query with these parameters; called once
 * @returns the read: a connection or transaction and the parameters to its rows
 */
export function fixedRead<Name extends string, Row>(
  names: readonly Name[],
  build: (db: Database | Tx, parameters: Readonly<Record<Name, string>>) => Compilable<Row>,
): (db: Database | Tx, parameters: Readonly<Record<Name, string>>) => Promise<Row[]> {
  let fixed: Fixed | null = null;
  return async (db, parameters) => {
    fixed ??= compiled(names, build(db, marked(names)));
    const { query, names: places } = fixed;
    const { rows } = await db.executeQuery<Row>({
      ...query,
      parameters: query.parameters.map((constant, index) => {
        const name = places[index];
        return name == null ? constant : parameters[name as Name];
      }),
    });
    return rows;
  };
}

const marked = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, markerOf(name)])) as Record<Name, string>;

function compiled<Row>(names: readonly string[], built: Compilable<Row>): Fixed {
  const query = built.compile();
  const byMarker = new Map(names.map((name) => [markerOf(name), name]));
  const places = query.parameters.map((value) =>
    typeof value === "string" ? (byMarker.get(value) ?? null) : null,
  );
  return { query, names: places };
}
