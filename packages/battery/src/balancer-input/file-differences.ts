import { wordsOf } from "./haproxy-words.ts";
import { asMeant, type Twin } from "./plain-twin.ts";

type Files = ReadonlyMap<string, string>;

/** Where haproxy evaluates what it reads (`%[…]`), and so no text of a user may have any of that. */
const isLiteral = (word: string | undefined) => word === "uri";

/**
 * How the files of a load balancer differ from those of its twin with harmless texts, other than by these texts, each in
 * its place as one word.
 */
export function fileDifferences(files: Files, twin: Files, meant: Twin["meant"]): string[] {
  const wanted = new Map([...twin].map(([path, text]) => [asMeant(path, meant), text]));
  const found = [
    ...[...files.keys()]
      .filter((path) => !wanted.has(path))
      .map((path) => `there is the file ${JSON.stringify(path)}`),
    ...[...wanted.keys()]
      .filter((path) => !files.has(path))
      .map((path) => `there is no file ${JSON.stringify(path)}`),
  ];
  for (const [path, text] of files) {
    const plain = wanted.get(path);
    // Keys and certificates are not written by anyone.
    if (plain === undefined || path.endsWith(".pem")) continue;
    found.push(...lineDifferences(path, text.split("\n"), plain.split("\n"), meant));
  }
  return found;
}

function lineDifferences(
  path: string,
  lines: readonly string[],
  plain: readonly string[],
  meant: Twin["meant"],
): string[] {
  if (lines.length !== plain.length)
    return [`${path} has ${lines.length} lines, and ${plain.length} were asked for`];
  return lines.flatMap((line, index) => {
    const where = `${path} line ${index + 1}`;
    const twin = plain[index] ?? "";
    if (path.endsWith(".list")) return entryDifferences(where, line.split(/[ \t]+/), twin.split(" "), meant);
    if (!path.endsWith("haproxy.cfg"))
      return line === asMeant(twin, meant) ? [] : [`${where} says ${JSON.stringify(line)}`];
    const words = wordsOf(line);
    const twins = wordsOf(twin);
    const wanted = twins.map((word) => asMeant(word, meant));
    if (JSON.stringify(words) !== JSON.stringify(wanted))
      return [`${where} says ${JSON.stringify(words)} and not ${JSON.stringify(wanted)}`];
    return wanted.flatMap((word, place) =>
      word !== twins[place] && word.includes("%") && !isLiteral(wanted[place - 1])
        ? [`${where} has ${JSON.stringify(word)} where haproxy evaluates it`]
        : [],
    );
  });
}

/** The first characters that make something else of a name or block in a list. */
const marks = /^[!#[\]-]/;

function entryDifferences(
  where: string,
  words: readonly string[],
  twins: readonly string[],
  meant: Twin["meant"],
): string[] {
  const wanted = twins.map((word) => asMeant(word, meant));
  const isSame =
    words.length === wanted.length && words.every((word, index) => isMeant(word, wanted[index] ?? ""));
  return isSame && !words.some((word) => marks.test(word))
    ? []
    : [`${where} says ${JSON.stringify(words)} and not ${JSON.stringify(wanted)}`];
}

/** One address is written without its length. */
const isMeant = (line: string, wanted: string) =>
  line === wanted || `${line}/32` === wanted || `${line}/128` === wanted;
