/**
 * Text that nobody has checked, such as a part of a path or the name of an unknown field, as a column can hold it:
 * Postgres has no NUL and no half of a surrogate pair.
 */
export function storableText(text: string): string {
  return text.replaceAll("\0", "%00").toWellFormed();
}
