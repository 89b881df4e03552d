import { openBrowser } from "@kule/console/testing/browser";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Plants, payloadCount } from "./payloads.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** What each kind of unescaped output would make of a text. */
const holders: Readonly<Record<string, (text: string) => string>> = {
  "a text": (text) => `<p>${text}</p>`,
  "a text that is cut off": (text) => `<p>${text.slice(0, 14)}…</p>`,
  "a word of a sentence": (text) => `<p>the server “${text}” is on</p>`,
  "a value in double quotes": (text) => `<a title="${text}">x</a>`,
  "a value in single quotes": (text) => `<a title='${text}'>x</a>`,
  "a page's title": (text) => `<head><title>${text} · Kule</title></head>`,
  "a field": (text) => `<textarea>${text}</textarea>`,
  "a choice": (text) => `<select><option>${text}</option></select>`,
  "a script's data": (text) => `<script type="application/json">{"name": "${text}"}</script>`,
  "a style": (text) => `<style>a::after { content: "${text}" }</style>`,
  "a comment": (text) => `<!-- ${text} -->`,
  "a drawing": (text) => `<svg><text>${text}</text></svg>`,
  "a drawing's title": (text) => `<svg><title>${text}</title></svg>`,
  "a row of a table": (text) => `<table><tr><td>${text}</td></tr></table>`,
};
const escaped = (text: string) => text.replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);

describe.skipIf(part.missing)("A text that is planted in an answer", () => {
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  /** In which of the documents there are elements or attributes of a text. */
  async function withMarkup(documents: readonly (readonly [holder: string, html: string])[]) {
    const page = await browser.newPage();
    try {
      const source = JSON.stringify(documents.map(([, html]) => html)).replaceAll("</", "<\\/");
      const found = (await page.evaluate(
        `${source}.map((html) => new DOMParser().parseFromString(html, "text/html").querySelector("[data-xss]") !== null)`,
      )) as readonly boolean[];
      return documents.filter((_, index) => found[index]).map(([holder]) => holder);
    } finally {
      await page.close();
    }
  }

  const written = (write: (text: string) => string) =>
    Array.from({ length: payloadCount }, (_, first) =>
      Object.entries(holders).map(
        ([holder, html]) =>
          [`${holder}, ${first}`, html(write(new Plants(1, first).asMarkup("a name")))] as const,
      ),
    ).flat();

  it("becomes markup wherever it is not escaped, for each text", async () => {
    const places = written((text) => text);
    expect(await withMarkup(places)).toEqual(places.map(([holder]) => holder));
  });

  it("is none where it is escaped", async () => {
    const places = written(escaped).filter(([holder]) => !/script|style|comment/.test(holder));
    expect(await withMarkup(places)).toEqual([]);
  });

  it("is an address that runs something wherever it is taken for one", () => {
    for (let first = 0; first < payloadCount; first += 1) {
      const { protocol } = new URL(new Plants(1, first).asAddress("a name"), "http://panel");
      expect(protocol).toBe("javascript:");
    }
  });
});
