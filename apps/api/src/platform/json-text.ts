/** The extent of a JSON text, counted without parsing it. */
export type JsonExtent = {
  readonly depth: number;
  /** At most this many values of every kind: the parts between commas and brackets. */
  readonly values: number;
  /** Names of all objects, repeated ones counted twice. */
  readonly names: number;
};

/** Counts until one of the figures is above its limit. Invalid JSON is counted as well as possible. */
export function extentOf(text: string, most: Pick<JsonExtent, "depth" | "values">): JsonExtent {
  let [depth, deepest, values, names] = [0, 0, 1, 0];
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === 0x22) index = endOfText(text, index);
    else if (character === 0x3a) names += 1;
    else if (character === 0x2c) values += 1;
    else if (character === 0x7b || character === 0x5b) {
      depth += 1;
      values += 1;
      if (depth > deepest) deepest = depth;
    } else if (character === 0x7d || character === 0x5d) depth -= 1;
    if (deepest > most.depth || values > most.values) break;
  }
  return { depth: deepest, values, names };
}

/** How many names the objects within a parsed value have. */
export function namesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const item of Object.values(value)) count += namesIn(item);
  return count;
}

/** The longest name that an error repeats. */
const longestName = 100;

type Level = { readonly names: Set<string> | null; place: string; index: number; isNameNext: boolean };

/** The JSON pointer of a field that an object of this JSON text has twice; null when none has. */
export function repeatedName(text: string): string | null {
  const levels: Level[] = [];
  const open = (names: Set<string> | null) =>
    levels.push({ names, place: "0", index: 0, isNameNext: names !== null });
  for (let index = 0; index < text.length; index += 1) {
    const level = levels.at(-1);
    const character = text[index];
    if (character === '"') {
      const end = endOfText(text, index);
      if (level?.names != null && level.isNameNext) {
        const name = JSON.parse(text.slice(index, end + 1)) as string;
        level.place = name.length > longestName ? `${name.slice(0, longestName).toWellFormed()}…` : name;
        if (level.names.has(name)) return pointerOf(levels);
        level.names.add(name);
        level.isNameNext = false;
      }
      index = end;
    } else if (character === "{") open(new Set());
    else if (character === "[") open(null);
    else if (character === "}" || character === "]") levels.pop();
    else if (character === "," && level !== undefined) {
      level.isNameNext = level.names !== null;
      if (level.names === null) level.place = String(++level.index);
    }
  }
  return null;
}

const pointerOf = (levels: readonly Level[]) =>
  levels.map(({ place }) => `/${place.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Where the text that begins at a quotation mark ends: at its other one. */
function endOfText(text: string, start: number): number {
  let index = start + 1;
  for (; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === 0x5c) index += 1;
    else if (character === 0x22) break;
  }
  return index;
}
