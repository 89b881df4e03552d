/**
 * Text that was not validated, such as a part of a path or the name of an unknown field, in a form that a
 * column can store: Postgres accepts no NUL and no half of a surrogate pair.
 */
export function storableText(text: string): string {
  return text.replaceAll("\0", "%00").toWellFormed();
}
