import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import type { Page } from "playwright-core";
import { type Language, messagesOf } from "../messages/messages.ts";
import { accessibilityProblems } from "./browser.ts";

const root = join(import.meta.dirname, "../..");
const pictures = join(root, "screenshots/pages");
const desk = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };
/** WCAG 2.2, 1.4.10: no horizontal scrolling down to this width. */
const narrowest = { width: 320, height: 640 };

const measure = buildSync({
  absWorkingDir: root,
  entryPoints: ["browser/testing/page-flaws.ts"],
  bundle: true,
  format: "iife",
  write: false,
}).outputFiles[0]?.text;

/**
 * Checks the page on a desktop, a phone and a narrow phone; takes screenshots with KULE_SCREENSHOTS=1.
 *
 * @param depth `new`: all checks. `changed`: a page of this crawl in another state, such as without any entry:
 *   without the focus check of each control, which takes most of the time. `known`: one with other contents: without
 *   axe too.
 * @returns the findings, each as a line that begins with the page's name
 */
export async function look(
  page: Page,
  language: Language,
  name: string,
  depth: "new" | "changed" | "known" = "new",
): Promise<string[]> {
  const flaws = new Set<string>();
  const asked = (question: Measure) => measured(page, question);
  const note = (at: string, found: readonly string[]) => {
    for (const flaw of found) flaws.add(`${name} (${at}): ${flaw}`);
  };
  // Names, roles, colours and focus rings are the same in every language; the length of words is not.
  const [seesFocus, usesAxe] = [language === "en" && depth === "new", language === "en" && depth !== "known"];

  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await show(page, desk);
  note("desk", await lastingFlaws(page));
  note("words", textFlaws(await asked("textsOfPage"), language));
  await takePictures(page, name, "desk");
  if (seesFocus) note("desk", await asked("focusFlaws"));

  await show(page, phone);
  note("phone", await lastingFlaws(page));
  note("phone", await asked("popupFlaws"));
  await takePictures(page, name, "phone");
  if (seesFocus) note("phone", await asked("focusFlaws"));
  if (usesAxe) {
    await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
    // A refused form scrolls to its field: what is then half under the header would count as a small target.
    await page.evaluate("scrollTo(0, 0)");
    note("phone, dark", await accessibilityProblems(page));
  }

  await show(page, narrowest);
  note("narrow", await lastingFlaws(page));
  await page.setViewportSize(desk);
  return [...flaws];
}

type Measure = "layoutFlaws" | "popupFlaws" | "focusFlaws" | "textsOfPage";

/** The findings of one check on the page in its current state. */
export function measured(page: Page, question: Measure): Promise<string[]> {
  return page.evaluate(`${measure};pageFlaws.${question}()`) as Promise<string[]>;
}

/** A busy machine renders late: a terminal that is being resized is no finding. Only findings that persist count. */
async function lastingFlaws(page: Page): Promise<string[]> {
  const first = await measured(page, "layoutFlaws");
  if (first.length === 0) return first;
  await page.waitForTimeout(1500);
  const then = new Set(await measured(page, "layoutFlaws"));
  return first.filter((flaw) => then.has(flaw));
}

/** Scripts that resize content to its container do so in the frames after the change. */
async function show(page: Page, size: { readonly width: number; readonly height: number }): Promise<void> {
  await page.setViewportSize(size);
  await page.evaluate(`new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
  })`);
}

async function takePictures(page: Page, name: string, size: string): Promise<void> {
  if (process.env.KULE_SCREENSHOTS !== "1") return;
  mkdirSync(pictures, { recursive: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({
      path: join(pictures, `${name.replaceAll(/[^\p{L}\p{N}]+/gu, "-")}-${size}-${colorScheme}.png`),
      fullPage: true,
      animations: "disabled",
    });
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
}

const leftovers = /\bundefined\b|\[object \w+\]|\bNaN\b|Invalid Date|\$\{|=>/;

/** Texts that are not meant for people, and on a Turkish page untranslated ones. */
export function textFlaws(texts: readonly string[], language: Language): string[] {
  const english = language === "en" ? new Set<string>() : untranslated();
  return texts.flatMap((text) =>
    leftovers.test(text)
      ? [`says "${text.slice(0, 80)}"`]
      : english.has(text)
        ? [`says "${text}" in English`]
        : [],
  );
}

let onlyEnglish: Set<string> | undefined;

/** English texts of more than one word whose translation differs: names may be the same. */
function untranslated(): Set<string> {
  if (onlyEnglish === undefined) {
    const turkish = new Set(wordsIn(messagesOf("tr")));
    onlyEnglish = new Set(wordsIn(messagesOf("en")).filter((text) => !turkish.has(text) && /\s/.test(text)));
  }
  return onlyEnglish;
}

function wordsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(wordsIn) : [];
}
