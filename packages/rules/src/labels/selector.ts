/** One condition of a label selector. All terms of a selector must hold. */
export type LabelTerm =
  | { readonly operator: "equals" | "not_equals"; readonly key: string; readonly value: string }
  | { readonly operator: "in" | "not_in"; readonly key: string; readonly values: readonly string[] }
  | { readonly operator: "exists" | "absent"; readonly key: string };

export type ParsedSelector =
  | { readonly ok: true; readonly terms: readonly LabelTerm[] }
  | { readonly ok: false; readonly message: string };

/** More terms than anyone writes by hand; each becomes a condition in a query. */
export const maxSelectorTerms = 20;

const keyPattern = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;
const valuePattern = /^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/;

/** True if the text can be a label's key. */
export function isLabelKey(text: string): boolean {
  return keyPattern.test(text);
}

/** True if the text can be a label's value (the empty text can). */
export function isLabelValue(text: string): boolean {
  return valuePattern.test(text);
}

/** Reads a selector: comma-separated `k=v`, `k==v`, `k!=v`, `k in (a,b)`, `k notin (a,b)`, `k`, `!k`. */
export function parseLabelSelector(text: string): ParsedSelector {
  if (text.trim() === "") return { ok: true, terms: [] };
  const terms: LabelTerm[] = [];
  for (const part of splitTerms(text)) {
    const term = parseTerm(part.trim());
    if (typeof term === "string") return { ok: false, message: term };
    terms.push(term);
  }
  if (terms.length > maxSelectorTerms)
    return { ok: false, message: `has ${terms.length} terms; at most ${maxSelectorTerms} are accepted` };
  return { ok: true, terms };
}

/** Splits at the commas that are not inside parentheses. */
function splitTerms(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    else if (text[at] === ")") depth -= 1;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

function parseTerm(term: string): LabelTerm | string {
  if (term === "") return "has an empty term (a comma too many?)";
  const list = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(term);
  if (list !== null) {
    const [, key = "", operator, inside = ""] = list;
    const values = inside.split(",").map((value) => value.trim());
    return (
      badKey(key) ??
      values.map(badValue).find((problem) => problem !== null) ?? {
        operator: operator === "in" ? "in" : "not_in",
        key,
        values: [...new Set(values)],
      }
    );
  }
  const comparison = /^([^=!\s]+)\s*(==|=|!=)\s*([^=!]*)$/.exec(term);
  if (comparison !== null) {
    const [, key = "", sign, value = ""] = comparison;
    const operator = sign === "!=" ? "not_equals" : "equals";
    return badKey(key) ?? badValue(value) ?? { operator, key, value };
  }
  if (term.startsWith("!")) {
    const key = term.slice(1).trim();
    return badKey(key) ?? { operator: "absent", key };
  }
  return badKey(term) ?? { operator: "exists", key: term };
}

const badKey = (key: string) =>
  isLabelKey(key) ? null : `${JSON.stringify(key.slice(0, 80))} is neither a label key nor a term`;
const badValue = (value: string) =>
  isLabelValue(value) ? null : `${JSON.stringify(value.slice(0, 80))} is not a label value`;

/** True if the labels meet every term; a missing label is unequal to every value, as in Kubernetes. */
export function selectorMatches(
  terms: readonly LabelTerm[],
  labels: { readonly [key: string]: string },
): boolean {
  return terms.every((term) =>
    termMatches(term, Object.hasOwn(labels, term.key) ? labels[term.key] : undefined),
  );
}

function termMatches(term: LabelTerm, value: string | undefined): boolean {
  switch (term.operator) {
    case "equals":
      return value === term.value;
    case "not_equals":
      return value !== term.value;
    case "in":
      return value !== undefined && term.values.includes(value);
    case "not_in":
      return value === undefined || !term.values.includes(value);
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
  }
}
