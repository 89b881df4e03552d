import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const products = "apps/console/src/products";

/** The content of a file that draws: the last word of its name. */
const drawn: ReadonlySet<string> = new Set([
  "page",
  "form",
  "fields",
  "panel",
  "table",
  "columns",
  "selected",
  "part",
]);

/** With what the name of a page or a form begins. A new action adds its verb. */
const verbs: readonly string[] = [
  "ask",
  "change",
  "choose",
  "confirm",
  "continue",
  "create",
  "delete",
  "edit",
  "filter",
  "import",
  "invite",
  "join",
  "list",
  "lock",
  "prove",
  "rebuild",
  "reconcile",
  "reset",
  "resize",
  "set-up",
  "show",
  "switch",
];

const seeRule = "(docs/products/console.md, Files of a product)";

/** Every file of the panel's products under `root` whose name does not say what it holds, one line each. */
export function findConsoleFileBreaches(root: string): string[] {
  return globSync(`${products}/*/*.{ts,tsx}`, { cwd: root })
    .sort()
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const [, product = "", name = "", ending = ""] =
        /([^/]+)\/([^/]+)\.(tsx?)$/.exec(file.slice(products.length + 1)) ?? [];
      const source = readFileSync(join(root, file), "utf8");
      return [...nameBreaches(product, name, ending), ...contentBreaches(name, source)].map(
        (breach) => `${file}: ${breach} ${seeRule}`,
      );
    });
}

function nameBreaches(product: string, name: string, ending: string): string[] {
  const kind = name.split("-").at(-1) ?? "";
  const breaches: string[] = [];
  if ([product, product.replace(/s$/, "")].some((word) => name === word || name.startsWith(`${word}-`)))
    breaches.push(`the folder already says "${product}"; leave it out of the name`);
  if (kind === "routes") return breaches;
  if (ending === "tsx" && !drawn.has(kind))
    breaches.push(`a file that draws ends with what it holds: ${[...drawn, "routes"].join(", ")}`);
  if (ending === "ts" && drawn.has(kind)) breaches.push(`draws nothing (.ts), so it is no ${kind}`);
  if ((kind === "page" || kind === "form") && !verbs.some((verb) => name.startsWith(`${verb}-`)))
    breaches.push(
      `a ${kind} is named by what is done on it: <verb>-${kind} or <verb>-<what>-${kind}. The verbs are in ` +
        "tools/check/src/console-files.ts",
    );
  return breaches;
}

function contentBreaches(name: string, source: string): string[] {
  const kind = name.split("-").at(-1);
  const breaches: string[] = [];
  if (kind !== "page" && /<(Shell|Document)\b/.test(source))
    breaches.push("draws a whole page: <verb>-page.tsx");
  if (kind !== "routes" && /\broutes\.(get|post|route)\(/.test(source))
    breaches.push("answers addresses: <what>-routes");
  const [, props] = /^export (?:type|interface) (\w*Props)\b/m.exec(source) ?? [];
  if (name !== "props" && props !== undefined)
    breaches.push(`${props} is for several files: it belongs in props.ts, which imports no page`);
  if (name === "props" && /^export (?!type )/m.test(source)) breaches.push("props.ts holds types only");
  return breaches;
}
