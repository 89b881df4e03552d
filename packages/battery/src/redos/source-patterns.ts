import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { activePatches, patchSource } from "@kule/build/source-patch";
import { parseSync, Visitor } from "oxc-parser";

const root = resolve(import.meta.dirname, "../../../..");

/** Where text of strangers can meet a regular expression: everything that ships. Tests and their parts do not. */
const shipped = [
  "apps/{api,agent,console}/src/**/*.{ts,tsx}",
  "packages/{rules,contract,programs,proxmox,region-config,sealed-secret}/src/**/*.{ts,js}",
];
const unshipped = /\.test\.tsx?$|\.d\.ts$|\/testing\//;

export type Pattern = {
  /** `file:line`, or the place in the contract. */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
};

export type SourcePatterns = {
  readonly files: number;
  readonly patterns: readonly Pattern[];
  /** `new RegExp(…)` of something that is not written down there: nothing can be said about it. */
  readonly unknown: readonly string[];
};

/** Every regular expression of the shipped sources, literals and `new RegExp("…")` alike, patches applied. */
export function sourcePatterns(): SourcePatterns {
  const files = shipped
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .filter((file) => !unshipped.test(file))
    .sort();
  const found = files.map((file) => {
    const path = join(root, file);
    return patternsIn(file, patchSource(root, path, readFileSync(path, "utf8"), activePatches()));
  });
  return {
    files: files.length,
    patterns: found.flatMap(({ patterns }) => patterns),
    unknown: found.flatMap(({ unknown }) => unknown),
  };
}

/** @throws Error when the file cannot be parsed: what cannot be read cannot be judged */
export function patternsIn(file: string, source: string): Omit<SourcePatterns, "files"> {
  const { program, errors } = parseSync(file, source);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${file} cannot be parsed: ${error.message}`);
  const patterns: Pattern[] = [];
  const unknown: string[] = [];
  const placeOf = (offset: number) => `${file}:${source.slice(0, offset).split("\n").length}`;
  const construct = (node: { start: number; callee: unknown; arguments: readonly unknown[] }) => {
    const callee = node.callee as { type: string; name?: string };
    if (callee.type !== "Identifier" || callee.name !== "RegExp") return;
    const [text, flags] = node.arguments.map(literalText);
    // A JSON Schema's format "regex" only compiles what it is given.
    if (source.slice(node.start).match(/^new RegExp\(\w+\),!0\}catch/)) return;
    if (text == null || (flags === null && node.arguments.length > 1)) unknown.push(placeOf(node.start));
    else patterns.push({ place: placeOf(node.start), source: text, flags: flags ?? "" });
  };
  new Visitor({
    Literal(node) {
      if ("regex" in node)
        patterns.push({
          place: placeOf(node.start),
          source: node.regex.pattern,
          flags: node.regex.flags,
        });
    },
    NewExpression: construct,
    CallExpression: construct,
  }).visit(program);
  return { patterns, unknown };
}

/** Null when it is not a literal. A template's expressions count as one plain character each. */
function literalText(node: unknown): string | null {
  const { type, value, quasis } = node as {
    type: string;
    value?: unknown;
    quasis?: readonly { value: { cooked: string | null } }[];
  };
  if (type === "TemplateLiteral") return (quasis ?? []).map(({ value: part }) => part.cooked ?? "").join("x");
  return type === "Literal" && typeof value === "string" ? value : null;
}
