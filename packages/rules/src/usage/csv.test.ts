import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { csvLine } from "./csv.ts";

/** A reader of RFC 4180, written from the RFC and not from the writer. */
function read(line: string): string[] {
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^"((?:[^"]|"")*)"(,|\r\n)/.exec(rest);
    const plain = /^([^",\r\n]*)(,|\r\n)/.exec(rest);
    const found = quoted ?? plain;
    if (found === null) throw new Error(`cannot be read: ${rest}`);
    cells.push(quoted === null ? (found[1] ?? "") : (found[1] ?? "").replaceAll('""', '"'));
    rest = rest.slice(found[0].length);
    if (found[2] !== ",") {
      expect(rest).toBe("");
      return cells;
    }
  }
}

describe("a line of CSV", () => {
  test("quotes what needs it, and nothing else", () => {
    expect(csvLine(["a", 1, null, 'say "hi"', "x,y", "two\nlines"])).toBe(
      'a,1,,"say ""hi""","x,y","two\nlines"\r\n',
    );
  });

  test.each([
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "|calc",
    "%00",
    "＝1",
    '=HYPERLINK("x")',
  ])("%j is not taken for a formula", (text) => {
    const [value] = read(csvLine([text]));
    expect(value).toBe(`'${text}`);
  });

  test("reads back as what was written, whatever it is, but for that apostrophe", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const back = read(csvLine(texts));
        expect(back.map((text, at) => (text === `'${texts[at]}` ? texts[at] : text))).toEqual(texts);
        for (const text of back) expect(text).not.toMatch(/^\s*[=+\-@]/);
      }),
    );
  });
});
