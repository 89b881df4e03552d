// A YAML text with the places of its keys and values, so that a finding can name a line and a column.

import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { RegionFileFinding } from "./region-file-error.ts";

/** Names and list indexes from the top: ["templates", "ubuntu-24.04", "vmid"]. */
export type KeyPath = readonly string[];

export class YamlSource {
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;
  /** Errors of the text as YAML. With any of these, nothing else can be read. */
  readonly findings: readonly RegionFileFinding[];

  constructor(text: string) {
    // Pretty errors would quote the line, which may hold a secret that should not be there.
    this.#document = parseDocument(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      uniqueKeys: true,
      version: "1.2",
    });
    this.findings = [...this.#document.errors, ...this.#document.warnings].map((error) => ({
      ...this.#at(error.pos[0]),
      key: "",
      message: `not valid YAML: ${sentenceOf(error.message)}`,
      fix: yamlFix(error.code),
    }));
  }

  toValue(): unknown {
    return this.#document.toJS({ maxAliasCount: 100 });
  }

  /** Where the value at this path begins; the nearest enclosing one when there is none. */
  placeOfValue(path: KeyPath): { line: number; column: number } {
    let node: unknown = this.#document.contents;
    for (const name of path) {
      const next: unknown = isSeq(node) ? node.items[Number(name)] : pairOf(node, name)?.value;
      if (next === undefined || next === null) break;
      node = next;
    }
    return this.#at(startOf(node));
  }

  /** The position of the key itself. */
  placeOfKey(path: KeyPath): { line: number; column: number } {
    let node: unknown = this.#document.contents;
    for (const name of path.slice(0, -1))
      node = isSeq(node) ? node.items[Number(name)] : pairOf(node, name)?.value;
    const last = path.at(-1);
    const pair = last === undefined ? undefined : pairOf(node, last);
    return pair === undefined ? this.placeOfValue(path) : this.#at(startOf(pair.key));
  }

  #at(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function pairOf(node: unknown, name: string): { key: unknown; value: unknown } | undefined {
  if (!isMap(node)) return undefined;
  return node.items.find(
    (pair) => isPair(pair) && String(isScalar(pair.key) ? pair.key.value : pair.key) === name,
  );
}

function startOf(node: unknown): number {
  const range = typeof node === "object" && node !== null && "range" in node ? node.range : null;
  return Array.isArray(range) && typeof range[0] === "number" ? range[0] : 0;
}

const sentenceOf = (message: string) => message.split("\n")[0]?.replace(/[.:]$/, "").slice(0, 200) ?? "";

function yamlFix(code: string): string {
  if (code === "DUPLICATE_KEY") return "remove one of the two";
  if (code === "MULTIPLE_DOCS") return "keep one document in a file; remove the line ---";
  if (code === "TAB_AS_INDENT") return "indent with spaces, never with tabs";
  return "check the indentation, and quotes and brackets that are not closed";
}
