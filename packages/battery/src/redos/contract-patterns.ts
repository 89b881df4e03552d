import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { activePatches, patchSource } from "@kule/build/source-patch";
import { parse } from "yaml";
import type { Pattern } from "./source-patterns.ts";

const root = resolve(import.meta.dirname, "../../../..");
const file = "docs/api/openapi.yaml";

/** Every `pattern` of the contract, at any path in it, as the validators compile it. */
export function contractPatterns(): Pattern[] {
  const path = join(root, file);
  const text = patchSource(root, path, readFileSync(path, "utf8"), activePatches());
  return patternsOf(parse(text), file);
}

export function patternsOf(node: unknown, place: string): Pattern[] {
  if (typeof node !== "object" || node === null) return [];
  const own =
    "pattern" in node && typeof node.pattern === "string"
      ? [{ place, source: node.pattern, flags: "u" }]
      : [];
  return [...own, ...Object.entries(node).flatMap(([key, child]) => patternsOf(child, `${place}/${key}`))];
}
