/**
 * The text without its trailing slashes. Not by /\/+$/: that takes quadratic time on slashes that are not at
 * the end.
 */
export function withoutSlashesAtEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}
