import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, openPage } from "./testing/browser.ts";
import { measured, textFlaws } from "./testing/page-look.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** The checks that run on every page: each defect is found, and is not reported where it is fixed. */
describe.skipIf(part.missing)("the checks of a page's layout", { timeout: 60_000 }, () => {
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
    ({ page } = await openPage(browser));
    await page.setViewportSize({ width: 390, height: 700 });
  }, 60_000);
  afterAll(() => browser?.close());

  const show = (body: string) =>
    page.setContent(
      `<!doctype html><html><head><title>Page</title><meta name="viewport" content="width=device-width">
      <style>body { margin: 0; font: 16px sans-serif } .box { border: 1px solid }</style></head><body>${body}</body></html>`,
    );
  // Narrower than the screen in every font, and wider than the boxes below.
  const long = "aNameThatNobodyWouldGiveToAServer";
  const popup = (style: string) =>
    `<details style="position: relative"><summary>More</summary><div style="position: absolute; width: 300px; ${style}">text</div></details>`;
  const header = (height: string) =>
    `<header style="position: fixed; inset: 0 0 auto; height: ${height}; background: white">Kule</header>`;

  test.each([
    [
      "layoutFlaws",
      "a page that scrolls sideways",
      /^scrolls sideways \(\d+ of 390\)/,
      "<p style='width: 500px'>x</p>",
      "<p style='width: 300px'>x</p>",
    ],
    [
      "layoutFlaws",
      "text that is cut off",
      /^cut off: p/,
      `<p style="width: 90px; overflow: hidden">${long}</p>`,
      `<p style="width: 90px; overflow-wrap: anywhere">${long}</p>`,
    ],
    [
      "layoutFlaws",
      "text cut off with nothing that says the whole of it",
      /^cut off: p/,
      `<p style="width: 90px; overflow: hidden; text-overflow: ellipsis">${long}</p>`,
      `<p title="${long}" style="width: 90px; overflow: hidden; text-overflow: ellipsis">${long}</p>`,
    ],
    [
      "layoutFlaws",
      "a placeholder that has no room",
      /^placeholder cut off \(\d+ of \d+\)/,
      `<input style="width: 60px" placeholder="${long}">`,
      "<input style='width: 200px' placeholder='web-1'>",
    ],
    [
      "layoutFlaws",
      "text that runs out of its box",
      /^text runs out of div\.box/,
      `<div class="box" style="width: 90px">${long}</div>`,
      `<div class="box" style="width: 90px; overflow-wrap: anywhere">${long}</div>`,
    ],
    [
      "layoutFlaws",
      "text over other text",
      /^"one" and "other" overlap/,
      "<p>one</p><p style='margin-top: -32px'>other</p>",
      "<p>one</p><p>other</p>",
    ],
    [
      "layoutFlaws",
      "text that runs over the text beside it, with no ellipsis",
      new RegExp(`^"${long.slice(0, 30)}" and "other" overlap`),
      `<div style="display: flex"><p style="width: 90px; white-space: nowrap">${long}</p><p>other</p></div>`,
      `<div style="display: flex"><p title="${long}" style="width: 90px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis">${long}</p><p>other</p></div>`,
    ],
    [
      "layoutFlaws",
      "targets that a finger cannot tell apart",
      /^target of \d+ × 16 px beside button/,
      "<div><button style='height: 16px; width: 60px; display: block'>a</button><button style='height: 16px; width: 60px; display: block'>b</button></div>",
      "<div><button style='height: 24px; width: 60px; display: block'>a</button><button style='height: 24px; width: 60px; display: block'>b</button></div>",
    ],
    [
      "layoutFlaws",
      "an id that two elements have",
      /^several elements have the id name$/,
      "<p id='name'>a</p><p id='name'>b</p>",
      "<p id='name'>a</p><p id='other'>b</p>",
    ],
    [
      "popupFlaws",
      "what opens beside the screen",
      /^opens beside the screen \(-\d+ to \d+\)/,
      popup("left: -100px"),
      popup("left: 0"),
    ],
    [
      "popupFlaws",
      "a page that scrolls sideways only with something open",
      /open: scrolls sideways/,
      "<details><summary>More</summary><p style='width: 500px'>x</p></details>",
      "<details><summary>More</summary><p>x</p></details>",
    ],
    [
      "focusFlaws",
      "a focus that nobody sees",
      /^focus is not seen: a "there"/,
      "<style>a:focus { outline: none }</style><a href='/x'>there</a>",
      "<style>a:focus { outline: 2px solid }</style><a href='/x'>there</a>",
    ],
    [
      "focusFlaws",
      "a focus inside of a drawing that nobody sees",
      /^focus is not seen: a "there"/,
      "<style>a:focus { outline: none }</style><svg width='90' height='40'><a href='/x'><rect width='90' height='40' fill='white'/><text y='20'>there</text></a></svg>",
      "<style>a:focus { outline: none } a:focus rect { stroke: black }</style><svg width='90' height='40'><a href='/x'><rect width='90' height='40' fill='white'/><text y='20'>there</text></a></svg>",
    ],
    [
      "focusFlaws",
      "a focus that lies under a bar",
      /^focus lies under header .*: button "go"/,
      `${header("60px")}<button>go</button>`,
      `${header("20px")}<button style="margin-top: 40px">go</button>`,
    ],
  ] as const)("%s finds %s", async (measure, _name, flaw, flawed, mended) => {
    await show(flawed);
    const found = await measured(page, measure);
    expect(found.filter((each) => flaw.test(each))).not.toEqual([]);
    await show(mended);
    expect(await measured(page, measure)).toEqual([]);
  });

  test("every text that a person reads or hears is collected", async () => {
    await show(`<p>seen</p><a href="/" title="hovered" aria-label="heard">x</a><input placeholder="typed over">
      <script>unread()</script><pre>curl</pre>`);
    const texts = await measured(page, "textsOfPage");
    expect(texts.toSorted()).toEqual(["Page", "heard", "hovered", "seen", "typed over", "x"]);
  });
});

test("an untranslated text is found, and so is a text that is not meant for people", () => {
  expect(textFlaws(["Create server", "Sunucu oluştur", "Kule"], "tr")).toEqual([
    'says "Create server" in English',
  ]);
  expect(textFlaws(["Create server"], "en")).toEqual([]);
  for (const left of [
    "undefined servers",
    "[object Object]",
    "NaN GB",
    "Invalid Date",
    "$\u007Bname}",
    "(x) => x",
  ])
    expect(textFlaws([left], "en")).toEqual([`says "${left}"`]);
});
