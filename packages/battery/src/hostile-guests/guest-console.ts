import { addMember } from "@kule/api/testing/add-member";
import type { ConsoleParty } from "@kule/api/testing/console-parties";
import { ConsoleWorld } from "@kule/api/testing/console-world";
import type { openBrowser } from "@kule/console/testing/browser";
import { findFreePort } from "@kule/postgres/free-port";
import type { TestProcess } from "@kule/testing/child-process";
import { startPanelProcess } from "../panel-scripts/panel-process.ts";

type Browser = Awaited<ReturnType<typeof openBrowser>>;
type Context = Awaited<ReturnType<Browser["newContext"]>>;
type Page = Awaited<ReturnType<Context["newPage"]>>;

/** A console in a real browser, and the machine at its other end for a case to play. */
export type OpenConsole = {
  readonly page: Page;
  readonly machine: ConsoleParty;
  /** What the page asked the person, or opened or left without asking. */
  readonly happened: readonly string[];
};

export const timeoutMilliseconds = 60_000;
/** What the person had copied before. */
export const ownClipboard = "what its person has copied";

/**
 * A panel with its API, a running machine, and a person who may see it and allows the panel to use the
 * clipboard.
 */
export class GuestConsoles {
  readonly #consoles: ConsoleWorld;
  readonly #panel: TestProcess;
  readonly #browser: Browser;
  readonly #context: Context;
  readonly #url: string;

  private constructor(
    consoles: ConsoleWorld,
    panel: TestProcess,
    parts: { readonly browser: Browser; readonly context: Context; readonly url: string },
  ) {
    this.#consoles = consoles;
    this.#panel = panel;
    this.#browser = parts.browser;
    this.#context = parts.context;
    this.#url = parts.url;
  }

  static async open(): Promise<GuestConsoles> {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const apiPort = await findFreePort();
    const publicUrl = `http://127.0.0.1:${apiPort}/api/v1`;
    const consoles = await ConsoleWorld.open({ consoleOrigins: [url], publicUrl }, apiPort);
    const panel = await startPanelProcess(consoles.one.origin, port);
    // Not imported with the row, which is loaded whenever the rows are listed.
    const browser = await (await import("@kule/console/testing/browser")).openBrowser();
    const context = await browser.newContext({ locale: "en-GB" });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
    const guests = new GuestConsoles(consoles, panel, { browser, context, url });
    try {
      await guests.#signIn();
      return guests;
    } catch (error) {
      await guests.close();
      throw error;
    }
  }

  async #signIn(): Promise<void> {
    const email = "ada@example.org";
    const added = await addMember(this.#consoles.servers.owned, { email, name: "Ada", role: "owner" });
    const page = await this.#context.newPage();
    await page.goto(`${this.#url}/sign-in`);
    await page.fill("input[name=email]", email);
    await page.fill("input[name=password]", added.password);
    await page.click(".sign-in-card button[type=submit]");
    await page.waitForURL("**/servers", { timeout: timeoutMilliseconds });
    await page.close();
  }

  /** Opens the machine's console; the machine has sent nothing yet. */
  async start(type: "serial" | "vnc"): Promise<OpenConsole> {
    const page = await this.#context.newPage();
    page.setDefaultTimeout(timeoutMilliseconds);
    const happened: string[] = [];
    page.on("dialog", (dialog) => {
      happened.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("popup", (popup) => happened.push(`a page at ${popup.url()}`));
    page.on("framenavigated", (frame) => {
      if (!frame.url().startsWith(`${this.#url}/servers/`)) happened.push(`a way to ${frame.url()}`);
    });
    await page.goto(`${this.#url}/servers/${this.#consoles.serverId}/console?type=${type}`);
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(ownClipboard)})`);
    const machine = await this.#consoles.agent(await this.#claim(page));
    machine.socket.send('{"type":"open"}');
    return { page, machine, happened };
  }

  /** The machine's side, once the page has requested its console. */
  async #claim(page: Page): Promise<string> {
    const deadline = performance.now() + timeoutMilliseconds;
    while (performance.now() < deadline) {
      const claimed = await this.#consoles.claim(10);
      if (claimed !== null) return claimed.session_id as string;
    }
    throw new Error(`nobody has asked for a console: ${await page.textContent("#console-state")}`);
  }

  async end({ page }: OpenConsole): Promise<void> {
    await page.close();
    await this.#consoles.endSessions();
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.#panel.end("SIGKILL");
    await this.#consoles.close();
  }
}
