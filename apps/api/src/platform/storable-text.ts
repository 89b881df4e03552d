/** Text from a path, as a column can hold it: Postgres has no NUL, which a path may carry as %00. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "%00").toWellFormed();
}
