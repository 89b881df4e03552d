import type { Labels } from "./merge.ts";
import { isLabelKey, isLabelValue } from "./selector.ts";

/** What is wrong with a term: its key, its value, or that its key occurs twice. */
export type WrongLabel = { readonly term: string; readonly wrong: "key" | "value" | "twice" };

export type TypedLabels = { readonly labels: Labels; readonly wrong: readonly WrongLabel[] };

/**
 * Reads labels as people type them: `env=prod, role=web`, or one on each line. A key alone has no value.
 *
 * @returns every term, including wrong ones: those as keys that no label can have. So the API refuses them
 * together with all other errors, and nothing that was typed is silently left out.
 */
export function parseTypedLabels(text: string): TypedLabels {
  const labels = new Map<string, string>();
  const wrong: WrongLabel[] = [];
  for (const term of text.split(/[,;\n]/).map((part) => part.trim())) {
    if (term === "") continue;
    const at = term.indexOf("=");
    const key = at < 0 ? term : term.slice(0, at).trim();
    const value = at < 0 ? "" : term.slice(at + 1).trim();
    const problem = problemOf(labels, key, value);
    if (problem === null) labels.set(key, value);
    else {
      wrong.push({ term, wrong: problem });
      labels.set(`=${term}`, "");
    }
  }
  return { labels: Object.fromEntries(labels), wrong };
}

function problemOf(
  labels: ReadonlyMap<string, string>,
  key: string,
  value: string,
): WrongLabel["wrong"] | null {
  if (!isLabelKey(key)) return "key";
  if (!isLabelValue(value)) return "value";
  const known = labels.get(key);
  return known === undefined || known === value ? null : "twice";
}
