import { splitList } from "../schema/property-schema.ts";

/** Tags as stored: lower case, each once, sorted, joined by semicolons (the default tag-style). */
export function normaliseTags(text: string): string {
  return [...new Set(splitList(text).map((tag) => tag.toLowerCase()))].sort().join(";");
}
