/** In a word: a part that haproxy would replace by a variable of its environment. */
export const environment = "<environment>";
/** In place of a line whose quotes do not end. */
export const unterminated = "<unterminated>";

const blank = /[ \t\r\v\f]/;
const letters: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/**
 * The words of a line of a configuration as haproxy reads it ("Quoting and escaping" of its manual). Written from the manual and
 * not from what Kule renders: it says what a text of a user means there.
 */
export function wordsOf(line: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote: "'" | '"' | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (character === "\0") break;
    if (quote === "'") {
      if (character === "'") quote = null;
      else word += character;
    } else if (character === "\\") {
      const next = line.charAt(at + 1);
      const hexadecimal = /^x([0-9a-fA-F]{2})/.exec(line.slice(at + 1));
      if (hexadecimal !== null) {
        word = `${word ?? ""}${String.fromCharCode(Number.parseInt(hexadecimal[1] ?? "", 16))}`;
        at += 3;
      } else {
        word = `${word ?? ""}${quote === null ? (letters[next] ?? next) : next}`;
        at += 1;
      }
    } else if (quote === '"') {
      if (character === '"') quote = null;
      else word += character === "$" ? environment : character;
    } else if (character === "#") break;
    else if (character === "'" || character === '"') {
      quote = character;
      word ??= "";
    } else if (blank.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = `${word ?? ""}${character}`;
  }
  if (quote !== null) return [unterminated];
  if (word !== null) words.push(word);
  return words;
}
