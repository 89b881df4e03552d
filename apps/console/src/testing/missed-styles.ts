import type { Browser, Page } from "playwright-core";
import { type PagePart, pageParts } from "../assets.ts";
import type { TestPanel } from "./test-panel.ts";

/** The stylesheet of a part of the panel, and the selectors of its rules. */
export type PartStyle = {
  readonly part: PagePart;
  readonly path: string;
  readonly selectors: readonly string[];
};

// States of an element are left out of the selector: a rule for a temporary state is needed as well.
const selectorsOf = `(css) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  // A nested rule refers to its parent as &.
  const of = (rules, parent) =>
    [...rules].flatMap((rule) => {
      const own = rule.selectorText?.replaceAll("&", ":is(" + parent + ")");
      return [own ?? [], rule.cssRules === undefined ? [] : of(rule.cssRules, own ?? parent)].flat();
    });
  const atTimes = /::[a-z-]+|:(hover|active|focus-visible|focus-within|focus|checked|placeholder-shown)\\b/g;
  return of(sheet.cssRules, "*").map((selector) => selector.replaceAll(atTimes, "") || "*");
}`;

/** The stylesheets that only some pages load, as a browser reads them. */
export async function stylesOfParts(browser: Browser, world: TestPanel): Promise<readonly PartStyle[]> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const found: PartStyle[] = [];
  for (const part of pageParts) {
    const path = world.assets.parts[part].stylePath;
    if (path === null) continue;
    const css = await (await context.request.get(world.url + path)).text();
    const selectors = await page.evaluate<string[]>(`(${selectorsOf})(${JSON.stringify(css)})`);
    if (selectors.length < 5) throw new Error(`the stylesheet of ${part} has ${selectors.length} rules`);
    found.push({ part, path, selectors });
  }
  await context.close();
  return found;
}

/** Rules that would change this page, in stylesheets that it does not load. */
export async function missedStyles(page: Page, styles: readonly PartStyle[]): Promise<readonly string[]> {
  const missed = `(styles) => {
    const isLoaded = ({ path }) => document.querySelector('link[href="' + path + '"]') !== null;
    // Two parts may share a file.
    const known = new Set(styles.filter(isLoaded).flatMap(({ selectors }) => selectors));
    return styles
      .filter((style) => !isLoaded(style))
      .flatMap(({ part, selectors }) =>
        selectors
          .filter((selector) => !known.has(selector) && document.querySelector(selector) !== null)
          .map((selector) => part + " for " + selector),
      );
  }`;
  return await page.evaluate<string[]>(`(${missed})(${JSON.stringify(styles)})`);
}
