import type { View } from "../../layout/view.ts";

/** A TTL in the largest unit of which it is a multiple: `1 h`, `90 s`. */
export function ttlText({ messages, format }: View, seconds: number): string {
  const units = messages.domains.record.ttlUnits;
  const said = (unit: keyof typeof units, size: number) => units[unit](format.number(seconds / size));
  if (seconds % 86_400 === 0) return said("d", 86_400);
  if (seconds % 3600 === 0) return said("h", 3600);
  return seconds % 60 === 0 ? said("min", 60) : said("s", 1);
}
