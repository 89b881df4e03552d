import { expect, test } from "vitest";
import { zoneFileEntries } from "./zone-file.ts";

const entries = (text: string) =>
  [...zoneFileEntries(text)].map(({ line, inheritsOwner, tokens, defect }) =>
    [
      line,
      inheritsOwner ? "+" : "",
      ...tokens.map((token) => (token.isQuoted ? `"${token.text}"` : token.text)),
      defect === null ? "" : `!${defect}`,
    ]
      .filter((part) => part !== "")
      .join(" "),
  );

test("lines are entries; blank lines and comments are none", () => {
  expect(entries("a A 192.0.2.1 ; one\r\n\n  ; nothing\n\tTXT x;y\n;last")).toEqual([
    "1 a A 192.0.2.1",
    "4 + TXT x",
  ]);
});

test("parentheses join lines, with comments inside; the line is that in which they begin", () => {
  expect(entries("\n@ SOA a. b. ( 1 ; serial\n 2 3\n\t4 5 )\nx A 192.0.2.1")).toEqual([
    "2 @ SOA a. b. 1 2 3 4 5",
    "5 x A 192.0.2.1",
  ]);
  expect(entries("(\na\nA (192.0.2.1))\nb A")).toEqual(["1 a A 192.0.2.1", "4 b A"]);
});

test("quotes keep blanks, semicolons and parentheses, and their escapes", () => {
  expect(entries('t TXT "a ; (b)" "say \\"hi\\"" \\"x\\;y')).toEqual([
    '1 t TXT "a ; (b)" "say \\"hi\\"" \\"x\\;y',
  ]);
  expect(entries('t TXT a"b"c')).toEqual(['1 t TXT a "b" c']);
});

test("a quote that is not closed ends with its line, so that the next lines are read", () => {
  expect(entries('t TXT "open\nb A 192.0.2.1')).toEqual(["1 t TXT !unclosed_quote", "2 b A 192.0.2.1"]);
  expect(entries('t TXT "open\\')).toEqual(["1 t TXT !unclosed_quote"]);
  expect(entries('t TXT "open\\\nb A')).toEqual(["1 t TXT !unclosed_quote", "2 b A"]);
});

test("parentheses without their other half are told", () => {
  expect(entries("a A ( 192.0.2.1\nb A")).toEqual(["1 a A 192.0.2.1 b A !unclosed_parenthesis"]);
  expect(entries("a ) A\n)\nb A")).toEqual(["1 a A !stray_parenthesis", "2 !stray_parenthesis", "3 b A"]);
});

test("an entry has at most a thousand tokens", () => {
  const [entry] = [...zoneFileEntries("x ".repeat(1_001))];
  expect(entry?.tokens).toHaveLength(1_000);
  expect(entry?.defect).toBe("too_many_tokens");
});
