import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

const api = "apps/api/src";
const products = `${api}/products`;

type ProductImport = {
  readonly file: string;
  readonly line: number;
  /** The product that the file belongs to; null outside of the products. */
  readonly from: string | null;
  readonly to: string;
  /** The file that is imported, inside its product. */
  readonly target: string;
};

/** Static ones at the beginning of a line, whether of values or of types, and dynamic ones. */
const imported =
  /^(?:import|export)\s[^;"']*?from\s+"(\.[^"]+)"|\bimport\(\s*"(\.[^"]+)"\s*\)|^import\s+"(\.[^"]+)"/gm;

/**
 * Every way in which the API's products under `root` are known otherwise than they may be, one line each: past an
 * `index.ts`, or in a cycle. Imports of types count; those of tests make no cycle.
 */
export function findProductBreaches(root: string): string[] {
  const imports = globSync(`${api}/**/*.ts`, { cwd: root })
    .sort()
    .flatMap((file) => importsOf(root, file));
  return [
    ...imports.filter(({ target }) => target !== "index.ts").map(pastIndex),
    ...inCycles(imports).map(inCycle),
  ];
}

function importsOf(root: string, file: string): ProductImport[] {
  const source = readFileSync(join(root, file), "utf8");
  const from = productOf(file);
  return [...source.matchAll(imported)].flatMap((match) => {
    const path = posix.join(dirname(file), match[1] ?? match[2] ?? match[3] ?? "");
    const to = productOf(path);
    if (to === null || to === from) return [];
    const line = source.slice(0, match.index + match[0].length).split("\n").length;
    return [{ file, line, from, to, target: path.slice(`${products}/${to}/`.length) }];
  });
}

function productOf(path: string): string | null {
  if (!path.startsWith(`${products}/`)) return null;
  return /^([^/]+)\//.exec(path.slice(products.length + 1))?.[1] ?? null;
}

function pastIndex({ file, line, to, target }: ProductImport): string {
  return (
    `${file}:${line}: imports ${products}/${to}/${target}. Import products by their index.ts only: ` +
    `export what you need from ${products}/${to}/index.ts, and import it from there`
  );
}

function inCycle({ file, line, from, to }: ProductImport): string {
  return (
    `${file}:${line}: ${from} imports ${to}, which imports ${from}, itself or through others. There are no cycles ` +
    "between products (AGENTS.md, Products of the API): call the upper product through a hook, as in " +
    `${products}/server-hooks.ts, or move what both need to the lower one`
  );
}

/** The imports that are part of a cycle of products. Nothing imports a test, so tests may import any product. */
function inCycles(imports: readonly ProductImport[]): ProductImport[] {
  const shipped = imports.filter(({ file, from }) => from !== null && !file.endsWith(".test.ts"));
  const known = Map.groupBy(shipped, ({ from }) => from);
  const reachableFrom = (product: string, seen = new Set<string>()): ReadonlySet<string> => {
    for (const { to } of known.get(product) ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      reachableFrom(to, seen);
    }
    return seen;
  };
  return shipped.filter(({ from, to }) => from !== null && reachableFrom(to).has(from));
}
