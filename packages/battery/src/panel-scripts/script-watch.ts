import { setTimeout as delay } from "node:timers/promises";
import type { openBrowser } from "@kule/console/testing/browser";
import { kindOfPath } from "./hostile-answers.ts";
import type { PagePolicies } from "./page-policy.ts";
import type { Plants } from "./payloads.ts";

type Browser = Awaited<ReturnType<typeof openBrowser>>;
type Context = Awaited<ReturnType<Browser["newContext"]>>;
type Page = Awaited<ReturnType<Context["newPage"]>>;

/** What is read from a page once it is loaded. */
type Standing = {
  /** Its text, and the values of all attributes and fields. */
  readonly shown: string;
  /** Elements that a text has created, or attributes that it has added. */
  readonly made: readonly string[];
  /** Addresses that would run something, or lead where no page of the panel leads. */
  readonly leads: readonly string[];
  readonly links: readonly string[];
};

// As texts: this package has no types of browsers. The page's policy does not apply to what its debugger
// runs.
const watching = `(() => {
  window.__xss = (mark) => window.__watched("script", String(mark));
  document.addEventListener("securitypolicyviolation", (event) =>
    window.__watched("policy", event.effectiveDirective + " " + event.blockedURI + " " + event.sample));
})()`;

const standing = `(() => {
  const all = [...document.querySelectorAll("*")];
  const values = all.flatMap((each) => [...each.attributes].map(({ value }) => value));
  const fields = [...document.querySelectorAll("input, textarea")].map(({ value }) => value);
  const addressesOf = (elements, names) => elements.flatMap((each) => names.flatMap((name) => {
    const value = each.getAttribute(name);
    return value === null || !URL.canParse(value, document.baseURI) ? [] : [new URL(value, document.baseURI).href];
  }));
  return {
    shown: [document.documentElement.textContent, ...values, ...fields].join("\\n"),
    made: [...document.querySelectorAll("[data-xss]")].map((each) => each.outerHTML.slice(0, 300)),
    leads: addressesOf(all, ["href", "src", "action", "formaction", "data", "xlink:href"])
      .filter((each) => /^(javascript:|vbscript:|data:text|blob:)|^[a-z]+:\\/\\/evil\\./i.test(each)),
    links: addressesOf([...document.querySelectorAll("a")], ["href"]),
  };
})()`;

const LEFT = "the browser was led to another page while this one was read";

/** A text that became a refresh or a link that is followed; the panel itself leaves no page that is loaded. */
const isLeft = (error: unknown) =>
  /Execution context was destroyed|interrupted by another navigation/.test(String(error));

const settleMilliseconds = 60_000;

/**
 * An address of the machine came or went while the page was loaded: the browser ends all its connections then, and
 * opens its error page, which takes the place of whatever is loaded before it is there.
 */
const isInterrupted = (error: unknown) => String(error).includes("net::ERR_NETWORK_CHANGED");
const errorPage = "chrome-error://chromewebdata/";
const mostLoads = 5;

/** A browser that notices whatever a text does beyond being read. */
export class ScriptWatch {
  readonly page: Page;
  readonly #url: string;
  readonly #context: Context;
  readonly #plants: readonly Plants[];
  readonly violations: Set<string>;
  visited = 0;
  #place = "";

  private constructor(
    context: Context,
    page: Page,
    url: string,
    plants: readonly Plants[],
    found: Set<string>,
  ) {
    this.#context = context;
    this.page = page;
    this.#url = url;
    this.#plants = plants;
    this.violations = found;
  }

  static async open(
    browser: Browser,
    options: {
      readonly url: string;
      readonly plants: readonly Plants[];
      readonly policies: PagePolicies;
      readonly violations: Set<string>;
      readonly userAgent?: string;
    },
  ): Promise<ScriptWatch> {
    const { url, plants, policies, violations, userAgent } = options;
    const context = await browser.newContext({
      locale: "en-GB",
      ...(userAgent === undefined ? {} : { userAgent }),
    });
    const page = await context.newPage();
    page.setDefaultTimeout(settleMilliseconds);
    const watch = new ScriptWatch(context, page, url, plants, violations);
    await context.exposeBinding("__watched", (_source, what: string, detail: string) =>
      watch.#note(what === "script" ? "a script of a text ran" : "the page's policy was broken", detail),
    );
    await context.addInitScript(watching);
    page.on("dialog", (dialog) => {
      watch.#note("a dialog was opened", dialog.message());
      void dialog.dismiss();
    });
    context.on("request", (request) => {
      const asked = request.url();
      if (asked.startsWith("data:")) return;
      const { origin, pathname } = new URL(asked);
      if (origin !== url || pathname.includes("xss-probe"))
        watch.#note("a text has asked for an address", asked);
    });
    context.on("response", (answer) => {
      if (!answer.url().startsWith(`${url}/`)) return;
      const headers = answer.headers();
      if (!/^text\/html\b/.test(headers["content-type"] ?? "")) return;
      const place = kindOfPath(new URL(answer.url()).pathname);
      for (const broken of policies.judge(place, headers)) violations.add(broken);
    });
    return watch;
  }

  #note(what: string, detail: string): void {
    const whose = this.#plants
      .map((plants) => plants.fieldsIn(detail))
      .find((field) => !field.startsWith("nobody"));
    this.violations.add(
      `${kindOfPath(this.#place)}: ${what} (${whose ?? "nobody knows whose"}): ${detail.slice(0, 200)}`,
    );
  }

  /** With where it is now and the browser's own words, which tell a text's doing from the page's own. */
  #noteLeft(error: unknown): void {
    const [words] = String(error ?? "").split("\n");
    this.#note("a text has become markup", `${LEFT}, to ${this.page.url()} ${words}`);
  }

  async #load(address: string) {
    for (let loads = 1; ; loads += 1) {
      const errorShown = Promise.withResolvers<void>();
      const noteErrorPage = (frame: { url(): string }) => {
        if (frame.url() === errorPage) errorShown.resolve();
      };
      // Before the load: the page of an earlier failure has the same address.
      this.page.on("framenavigated", noteErrorPage);
      try {
        return await this.page.goto(address, { waitUntil: "load" });
      } catch (error) {
        if (!isInterrupted(error) || loads === mostLoads) throw error;
        await Promise.race([errorShown.promise, delay(settleMilliseconds, undefined, { ref: false })]);
      } finally {
        this.page.off("framenavigated", noteErrorPage);
      }
    }
  }

  /** Opens a path of the panel and reads the page. Null when there is none, such as for a file. */
  async visit(path: string): Promise<{ readonly status: number; readonly links: readonly string[] } | null> {
    [this.#place = path] = path.split("?");
    try {
      const answer = await this.#load(`${this.#url}${path}`);
      this.visited += 1;
      const { links } = await this.read();
      const status = answer?.status() ?? 0;
      if (status === 500) this.violations.add(`${kindOfPath(this.#place)}: a text has broken the page`);
      return { status, links };
    } catch (error) {
      if (/Download is starting|ERR_ABORTED/.test(String(error))) return null;
      if (!isLeft(error)) throw error;
      this.#noteLeft(error);
      return null;
    }
  }

  /** Does something on the open page; false when a text has led the browser to another one, which is noted. */
  async act(step: (isLeft: () => boolean) => Promise<unknown>): Promise<boolean> {
    const url = this.page.url();
    const hasLeft = () => this.page.url() !== url;
    let destroyed: unknown = null;
    try {
      await step(hasLeft);
    } catch (error) {
      if (!isLeft(error) && !hasLeft()) throw error;
      destroyed = error;
    }
    if (destroyed === null && !hasLeft()) return true;
    this.#noteLeft(destroyed);
    return false;
  }

  /** Sends a form of the open page, and reads the page of the answer. */
  async submit(send: () => Promise<unknown>): Promise<void> {
    const sent = send().catch((error) => {
      // The next page may be there before the answer to the call that has sent the form.
      if (!isLeft(error)) throw error;
    });
    await Promise.all([this.page.waitForEvent("load"), sent]);
    await this.read();
  }

  /** Reads the present page, and checks it. */
  async read(): Promise<Standing> {
    let page: Standing;
    try {
      page = (await this.page.evaluate(standing)) as Standing;
    } catch (error) {
      if (!isLeft(error)) throw error;
      this.#noteLeft(error);
      return { shown: "", made: [], leads: [], links: [] };
    }
    for (const plants of this.#plants) plants.read(page.shown);
    for (const html of page.made) this.#note("a text has become markup", html);
    for (const address of page.leads) this.#note("a text has become an address", address);
    const links = page.links.flatMap((link) => {
      const { origin, pathname, search } = new URL(link);
      return origin === this.#url ? [pathname + search] : [];
    });
    return { ...page, links };
  }

  async close(): Promise<void> {
    await this.#context.close();
  }
}
