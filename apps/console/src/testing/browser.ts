import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findChromium } from "@kule/testing/chromium";
import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const screenshots = join(import.meta.dirname, "../../screenshots");
const phone = { width: 390, height: 844 };
const desktop = { width: 1360, height: 900 };

export function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  return chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A page, and all errors of its console. */
export type WatchedPage = {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: string[];
};

/**
 * A navigation that starts, or a window that is resized, before a view transition ends skips the transition, which
 * browsers report as an error.
 */
const skippedTurn =
  /^(AbortError: Transition was skipped|InvalidStateError: Transition was aborted because of invalid state)/;

export async function openPage(
  browser: Browser,
  options: {
    readonly locale?: string;
    readonly javaScriptEnabled?: boolean;
    readonly colorScheme?: "light" | "dark";
    /** Reduced by default: each frame of an animation is drawn by the CPU, which takes more of it than the page. */
    readonly reducedMotion?: "no-preference";
  } = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    locale: "en-GB",
    viewport: desktop,
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => {
    if (!skippedTurn.test(String(error))) complaints.push(String(error));
  });
  return { page, context, complaints };
}

export async function signIn(page: Page, url: string): Promise<void> {
  await signInAs(page, url, "ada@example.org", "correct horse");
  await page.waitForURL("**/servers");
}

/** Signs in a user who has not chosen an organisation yet. */
export async function signInAsOperator(page: Page, url: string): Promise<void> {
  await signInAs(page, url, "grace@example.org", "keeps it running");
  await page.waitForURL("**/operator");
}

export async function signInAs(page: Page, url: string, email: string, password: string): Promise<void> {
  await page.goto(`${url}/sign-in`);
  await page.fill("input[name=email]", email);
  await page.fill("input[name=password]", password);
  await page.click(".sign-in-card button[type=submit]");
}

/**
 * Waits for transitions: halfway between two colours, a button has the contrast of neither. Endless animations are
 * not waited for, nor invisible ones: inside a closed `details` a transition starts and never ends. None here is
 * longer than a second.
 */
const animationsEnded = `Promise.race([
  new Promise((resolve) => setTimeout(resolve, 3000)),
  Promise.allSettled(
    document.getAnimations()
      .filter((animation) => animation.playState === "running" &&
        animation.effect?.getComputedTiming().iterations !== Infinity &&
        animation.effect?.target?.checkVisibility() !== false)
      .map((animation) => animation.finished)),
])`;

const axeOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  resultTypes: ["violations"],
};

/** The findings of axe by WCAG 2.2 AA, as lines that name the rule and the element. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(animationsEnded);
  // Straight in the page, which has no frames: through a builder for all frames it takes ten times as long.
  const { violations } = (await page.evaluate(
    `${axe.source};axe.run(document, ${JSON.stringify(axeOptions)})`,
  )) as AxeResults;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} (${failureSummary})`),
  );
}

/** The errors of the browser, beyond the refusals that a test requested. */
export function complaintsBeyond(watched: WatchedPage, ...expectedStatuses: readonly number[]): string[] {
  return watched.complaints.filter(
    (text) =>
      !expectedStatuses.some((status) => text.includes(`the server responded with a status of ${status}`)),
  );
}

/**
 * With KULE_SCREENSHOTS=1: screenshots of the page, for desktop and phone, light and dark, in `screenshots/` (not in
 * git). They are for people, so other runs save the time.
 */
export async function takeScreenshots(page: Page, name: string): Promise<void> {
  if (process.env.KULE_SCREENSHOTS !== "1") return;
  mkdirSync(screenshots, { recursive: true });
  for (const [size, viewport] of [
    ["desktop", desktop],
    ["phone", phone],
  ] as const)
    for (const colorScheme of ["light", "dark"] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({
        path: join(screenshots, `${name}-${size}-${colorScheme}.png`),
        fullPage: size === "phone",
        animations: "disabled",
      });
    }
  await page.setViewportSize(desktop);
  await page.emulateMedia({ colorScheme: null });
}
