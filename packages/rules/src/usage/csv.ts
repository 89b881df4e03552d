/**
 * One line of RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front, which
 * spreadsheets do not show: resource names and labels are written by others, and a person who opens the file
 * trusts it.
 */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cell).join(",")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const harmless = /^[\s]*[=+\-@\t\r\n|%\uff1d\uff0b\uff0d\uff20]/u.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
