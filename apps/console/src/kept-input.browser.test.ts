import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { signIn, signInAsOperator } from "./testing/browser.ts";
import { crawl, isDownload } from "./testing/crawl.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { everything } from "./testing/scenes/everything.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { endSessions } from "./testing/visitor-session.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** The failures that can replace the answer to a form's request. */
const failures = ["ended", "forbidden", "away", "broken", "no connection", "another page"] as const;

/** An element within a form that sends requests by itself, and its page. */
type Sender = {
  readonly name: string;
  readonly path: string;
  readonly index: number;
  readonly method: string;
};

const senders =
  "form[hx-get], form[hx-post], form [hx-get]:not([data-poll]), form [hx-post]:not([data-poll])";
const typedInto =
  "input:is([type=text], [type=search], [type=number], [type=email]):not([readonly]), textarea";

describe.skipIf(part.missing)("the input of a form", { timeout: 600_000 }, () => {
  let world: PanelWorld<FactsOf<typeof everything>>;
  let page: Page;

  sceneInBrowser(everything, 20_000, async (panel) => {
    ({ world, page } = panel);
    // The first network of the list is the one that is visited: one with servers has more forms.
    const { shop } = world.facts.networks;
    await world.real.sql("update network set created_at = clock_timestamp() where id = $1", [shop]);
  });

  test.each([
    [
      "member",
      "/servers",
      ["create-choices", "rules-form", "resize-form", "/networks/*", "/jobs", "/servers", "/search"],
    ],
    ["operator", "/operator", ["import-choices"]],
  ] as const)(
    "stays in every form of a %s that asks for a part of its page, whatever comes back",
    async (role, first, known) => {
      await (role === "member" ? signIn(page, world.url) : signInAsOperator(page, world.url));
      const found = await sendersFrom(first);
      const names = [...found.keys()].join(" ");
      for (const name of known) expect(names).toContain(name);
      const lost: string[] = [];
      for (const sender of found.values())
        for (const failure of failuresFor(sender)) {
          const loss = await tryFailure(sender, failure);
          if (loss !== null) lost.push(`${sender.name} (${sender.path}), ${failure}: ${loss}`);
        }
      expect(lost).toEqual([]);
    },
  );

  test("is restored in the create form after the session ended and the person signed in again", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/servers/new`);
    await page.click("#add-key > summary");
    await page.fill("input[name=new_key_name]", "new laptop");
    await page.fill("textarea[name=new_key_text]", "ssh-ed25519 AAAA");
    await endSessions(world, "ada");
    await page.fill("input[name=name]", "typed-before");
    const problem = page.locator("[data-request-problem]");
    await problem.waitFor();
    expect(await problem.textContent()).toContain("Your session has ended");
    expect(await page.inputValue("input[name=name]")).toBe("typed-before");
    await problem.getByRole("link").click();
    await signInHere("Your session has ended");
    await page.waitForURL("**/servers/new**");
    await page.waitForSelector("[data-kept-form]");
    expect(await page.inputValue("input[name=name]")).toBe("typed-before");
    expect(await page.inputValue("input[name=new_key_name]")).toBe("new laptop");
    expect(await page.inputValue("textarea[name=new_key_text]")).toBe("ssh-ed25519 AAAA");
  });

  test("is restored after a plain form found that the session had ended, and is sent once", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/networks/new`);
    const name = "form[action='/networks/new'] input[name=name]";
    await page.fill(name, "between");
    await endSessions(world, "ada");
    const networks = async () => (await world.real.list("/networks")).length;
    const before = await networks();
    await page.click("form[action='/networks/new'] button[type=submit]");
    await signInHere("Your session has ended");
    await page.waitForURL("**/networks/new");
    await page.waitForSelector("[data-kept-form]");
    expect(await page.inputValue(name)).toBe("between");
    expect(await networks()).toBe(before);
    await page.click("form[action='/networks/new'] button[type=submit]");
    await page.waitForURL("**/networks/net_*");
    expect(await networks()).toBe(before + 1);
    await page.goto(`${world.url}/networks/new`);
    expect(await page.inputValue(name)).toBe("");
  });

  test("is restored with the rows of a firewall's rules, and survives a change of the firewall", async () => {
    await signIn(page, world.url);
    const firewall = `/firewalls/${world.facts.firewalls.web}`;
    await page.goto(`${world.url}${firewall}/rules`);
    const rows = await page.locator(".rule-editor tbody").count();
    await page.click("#add-rule");
    await expect.poll(() => page.locator(".rule-editor tbody").count()).toBe(rows + 1);
    const ports = page.locator(".rule-editor tbody").last().locator("input[name$=ports]");
    await ports.fill("8443");
    await done(world.real.acme.put(`${firewall}/rules`, { rules: [] }));
    await endSessions(world, "ada");
    await page.click(".rule-save button[type=submit]");
    await signInHere("Your session has ended");
    await page.waitForSelector("[data-kept-form]");
    await expect.poll(() => page.locator(".rule-editor tbody").count()).toBe(rows + 1);
    expect(await ports.inputValue()).toBe("8443");
  });

  test("is not shown to another person who signs in, and passwords are not stored", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/account/security`);
    const secret = "a word that nobody may keep";
    await page.evaluate(`for (const field of document.querySelectorAll("input[type=password]")) {
      field.value = ${JSON.stringify(secret)};
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }`);
    await endSessions(world, "ada");
    await page.evaluate(`document.querySelector("form:has(input[type=password])").requestSubmit()`);
    await page.waitForURL("**/sign-in?**");
    const remembered = () => page.evaluate("JSON.stringify(sessionStorage)");
    expect(await remembered()).toContain("ada@example.org");
    expect(await remembered()).not.toContain(secret);
    await page.fill("input[name=email]", "grace@example.org");
    await page.fill("input[name=password]", "keeps it running");
    await page.click(".sign-in-card button[type=submit]");
    await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
    await expect.poll(remembered).not.toContain("ada@example.org");
  });

  test("stays on a page whose list refreshes itself when the session ends", async () => {
    await signIn(page, world.url);
    await page.goto(`${world.url}/firewalls/${world.facts.firewalls.web}`);
    const field = `document.querySelector("main form[method=post] input[type=text]")`;
    await page.evaluate(
      `${field}.value = "half-typed"; ${field}.dispatchEvent(new Event("input", { bubbles: true }));`,
    );
    await endSessions(world, "ada");
    await page.waitForSelector("[data-poll][data-htmx-powered]");
    await page.evaluate("document.querySelector('[data-poll]').dispatchEvent(new CustomEvent('refresh'))");
    await page.waitForSelector("[data-request-problem]");
    expect(await page.evaluate(`${field}.value`)).toBe("half-typed");
    expect(new URL(page.url()).pathname).toContain("/firewalls/");
  });

  /**
   * The first sender of a form that changes something is tried with all failures; the others, many and alike, with one
   * each.
   */
  let turn = 0;
  const met = new Set<string>();
  function failuresFor({ method, name }: Sender): readonly (typeof failures)[number][] {
    const [form = ""] = name.split(" ");
    if (method === "post" && !met.has(form)) {
      met.add(form);
      return failures;
    }
    turn += 1;
    return [failures[turn % failures.length] ?? "away"];
  }

  async function signInHere(reason: string): Promise<void> {
    await page.waitForURL("**/sign-in?**");
    expect(await page.textContent(".sign-in-card")).toContain(reason);
    await page.fill("input[name=email]", "ada@example.org");
    await page.fill("input[name=password]", "correct horse");
    await page.click(".sign-in-card button[type=submit]");
  }

  /**
   * Finds every kind of sender of the panel by following its links; each at the first page that has it. Pages are
   * read without a browser: rendering the whole panel would take longer than the test itself.
   */
  async function sendersFrom(first: string): Promise<Map<string, Sender>> {
    const found = new Map<string, Sender>();
    const shapes = new Set<string>();
    await crawl(first, async ({ path }) => {
      const shape = path.replaceAll(/[a-z]+_[0-9a-z]{10,}/g, "*").replace(/\?.*/, "");
      if (isDownload(path) || shapes.has(shape)) return null;
      shapes.add(shape);
      const [html, names] = (await page.evaluate(`(async () => {
        const html = await (await fetch(${JSON.stringify(world.url + path)})).text();
        const read = new DOMParser().parseFromString(html, "text/html");
        return [html, [...read.querySelectorAll(${JSON.stringify(senders)})].map((each) => {
          const form = each.closest("form");
          const own = each.closest("dialog") ? "dialog " : "";
          const action = new URL(form.getAttribute("action") ?? "", ${JSON.stringify(world.url + path)});
          return [form.method, own + [form.id, action.pathname.replaceAll(/[a-z]+_[0-9a-z]{10,}/g, "*"), each.id, each.tagName, each.value && each.tagName === "BUTTON" ? each.value.replaceAll(/\\d+/g, "n") : ""].join(" ")];
        })];
      })()`)) as [string, [string, string][]];
      for (const [index, [method, name]] of names.entries())
        if (!found.has(name)) found.set(name, { name, path, index, method });
      return html;
    });
    return found;
  }

  /**
   * Types into the sender's form, triggers its request, and answers with a failure. Returns the lost input, or null.
   */
  async function tryFailure(sender: Sender, failure: (typeof failures)[number]): Promise<string | null> {
    // The test waits for the script only, not for fonts.
    await page.goto(world.url + sender.path, { waitUntil: "domcontentloaded" });
    let asked = 0;
    const answer = async (route: Route) => {
      const headers = route.request().headers();
      if (headers["hx-request"] !== "true") return route.fallback();
      asked += 1;
      if (failure === "no connection") return route.abort();
      const status = { ended: 401, forbidden: 403, away: 503, broken: 500, "another page": 200 }[failure];
      return route.fulfill({ status, contentType: "text/html", body: "<main><h1>Another page</h1></main>" });
    };
    const inForce = `document.querySelectorAll(${JSON.stringify(senders)})[${sender.index}]?.matches("[data-htmx-powered]")`;
    await expect.poll(() => page.evaluate(inForce), { timeout: 20_000 }).toBe(true);
    // Polls are suspended: they are not part of this test.
    await page.evaluate("for (const each of document.querySelectorAll('[data-poll]')) each.remove()");
    await page.route("**/*", answer);
    try {
      const act = (script: string) =>
        page.evaluate(`{
          const sender = document.querySelectorAll(${JSON.stringify(senders)})[${sender.index}];
          const form = sender.closest("form");
          const typed = [...form.elements].filter((each) => each.matches(${JSON.stringify(typedInto)}));
          ${script}
        }`);
      await page
        .evaluate("for (const each of document.querySelectorAll('dialog')) each.showModal?.call(each)")
        .catch(() => null);
      await act(`typed.forEach((each, index) => { each.value = each.type === "number" ? "7" : "typed" + index; });
        window.wasTyped = () => form.isConnected ? typed.filter((each) => each.isConnected).map((each) => each.value).join(",") : "the form is gone";
        window.before = window.wasTyped();`);
      await act(`if (sender.tagName === "BUTTON") { sender.disabled = false; sender.click(); }
        else if (sender.matches("form:not([hx-trigger])")) form.requestSubmit();
        else {
          const source = typed[0] ?? form.elements[0];
          const at = sender.contains(source) ? source : sender;
          for (const kind of ["input", "change"]) at.dispatchEvent(new Event(kind, { bubbles: true }));
        }`);
      const banner = page.locator("[data-request-problem]").first();
      await banner.waitFor({ state: "attached", timeout: 20_000 }).catch(() => null);
      if (asked === 0) return "it did not ask";
      const [before, now, said] = (await page
        .evaluate(
          "[window.before, window.wasTyped(), document.querySelector('[data-request-problem]')?.textContent ?? '']",
        )
        .catch(() => ["", "the page is gone", ""])) as [string, string, string];
      if (before !== now) return `it had ${before} and has ${now}`;
      return said.trim() === "" ? "nothing is said beside it" : null;
    } finally {
      await page.unroute("**/*", answer);
    }
  }
});
