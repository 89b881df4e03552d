import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsBeyond, openBrowser, openPage, signInAs, takeScreenshots } from "../testing/browser.ts";
import {
  type PanelStack,
  type Signed,
  seesStatus,
  send,
  serverIdOf,
  startPanelStack,
} from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** The texts in each language for which the test waits. */
const english = {
  name: "english",
  locale: "en-GB",
  viewport: { width: 1360, height: 900 },
  running: "running",
  resized: "Resize a server",
  /** Whether the firewall is chosen in the server's create form, rather than attached afterwards. */
  choosesFirst: false,
};
const turkish = {
  ...english,
  name: "turkish",
  locale: "tr-TR",
  viewport: { width: 390, height: 844 },
  running: "çalışıyor",
  resized: "Sunucuyu yeniden boyutlandırma",
  choosesFirst: true,
};

/** A person's first day, by forms and buttons only, on desktop and phone. */
describe.skipIf(part.missing)("a newcomer in the panel of a whole Kule", { timeout: 300_000 }, () => {
  let stack: PanelStack;
  beforeAll(async () => {
    stack = await startPanelStack();
    await giveAddresses();
  }, 240_000);
  afterAll(() => stack?.end());

  /** An operator's preparation. */
  async function giveAddresses(): Promise<void> {
    const { operator, organisation } = stack.world;
    const { data: own } = await organisation.GET("/organisation", {});
    const { data: pool } = await operator.POST("/ip-pools", {
      body: { region: "lab1", name: "public", gateway: "203.0.113.1", prefix_length: 24 },
    });
    const params = { path: { ip_pool_id: pool?.id ?? "" } };
    await operator.POST("/ip-pools/{ip_pool_id}/ranges", { params, body: { cidr: "203.0.113.0/28" } });
    const { response } = await operator.POST("/ip-pools/{ip_pool_id}/allocations", {
      params,
      body: { organisation_id: own?.id ?? "", count: 2 },
    });
    expect(response.status).toBeLessThan(300);
  }

  /** No element of a page is wider than its screen. */
  async function fits(page: Page): Promise<void> {
    const { width } = page.viewportSize() ?? { width: 0 };
    expect(await page.evaluate("document.documentElement.scrollWidth"), page.url()).toBeLessThanOrEqual(
      width,
    );
  }

  for (const [index, words] of [english, turkish].entries())
    describe(words.name, () => {
      const colleague = { email: `${words.name}@example.org`, password: `a long one in ${words.name}` };
      let owner: Signed;
      let page: Page;
      let id = "";
      beforeAll(async () => {
        owner = await stack.signIn("organisation", { locale: words.locale });
        page = owner.page;
        await page.setViewportSize(words.viewport);
      });

      test("invites a colleague, who joins and sees the resources", async () => {
        await owner.open("/members");
        await page.click(".page-acts a[href='/members/invite']");
        await page.waitForURL("**/members/invite");
        expect(await page.getAttribute("html", "lang")).toBe(words.locale.slice(0, 2));
        await fits(page);
        await page.fill("#field-email", colleague.email);
        await page.selectOption("#invite-role", "viewer");
        await send(page, "main form.form button[type=submit]");
        const link = ((await page.textContent("#shown-once")) ?? "").trim();

        const browser = await openBrowser();
        try {
          const other = await openPage(browser, { locale: words.locale });
          other.page.setDefaultTimeout(40_000);
          await other.page.setViewportSize(words.viewport);
          await other.page.goto(link);
          await fits(other.page);
          await other.page.fill("#field-name", "Grete Hermann");
          await other.page.fill("#field-password", colleague.password);
          await other.page.click("button[data-kind=primary]");
          await other.page.waitForURL("**/join?done");
          // The link works once.
          await other.page.goto(link);
          expect(await other.page.locator("#field-password").count()).toBe(0);
          await signInAs(other.page, stack.url, colleague.email, colleague.password);
          await other.page.waitForURL("**/servers");
          // A viewer sees why no server can be created.
          expect(await other.page.locator("main a[href='/servers/new']").count()).toBe(0);
          await other.page.goto(`${stack.url}/members`);
          await other.page.waitForSelector(`main table >> text=${colleague.email}`);
          expect(await other.page.locator("a[href='/members/invite']").count()).toBe(0);
          expect(complaintsBeyond(other, 404, 422)).toEqual([]);
        } finally {
          await browser.close();
        }
      });

      test("creates a network, a firewall and a server with a public address", async () => {
        await owner.open("/networks/new");
        await page.fill("#field-name", `net-${words.name}`);
        await page.fill("#field-cidr", `10.${40 + index}.0.0/16`);
        await send(page, "main form.form[action='/networks/new'] button[type=submit]");
        await page.waitForURL(/\/networks\/net_\w+/);
        const network = new URL(page.url()).pathname.split("/").at(-1) ?? "";
        await page.click(`a[href='/networks/${network}/subnets/new']`);
        await page.fill("#field-name", "app");
        await page.check("input[name=tier][value=app]");
        await page.fill("#field-cidr", `10.${40 + index}.1.0/24`);
        await send(page, `form[action$='/${network}/subnets/new'] button[type=submit]`);
        await page.waitForURL(/\/subnets\/sub_\w+/);
        await fits(page);

        await owner.open("/firewalls/new");
        await page.fill("#field-name", `wall-${words.name}`);
        await send(page, "main form.form[action='/firewalls/new'] button[type=submit]");
        await page.waitForURL(/\/firewalls\/fw_\w+/);
        await fits(page);

        await owner.open("/servers/new");
        await page.check("[id='image-ubuntu-24.04']");
        await page.check("#package-s");
        await page.fill("#field-name", `first-${words.name}`);
        const { data } = await stack.world.organisation.GET("/networks/{network_id}", {
          params: { path: { network_id: network } },
        });
        await page.selectOption("#field-subnet_id", data?.subnets[0]?.id ?? "none");
        await page.selectOption("#public_ip", "auto");
        if (words.choosesFirst) await page.check(`#firewalls label:has-text("wall-${words.name}") input`);
        await page.waitForSelector(".summary .ready");
        await fits(page);
        await send(page, ".summary button[value=create]");
        await page.waitForURL(/\/servers\/srv_/);
        id = serverIdOf(page);
        expect(await page.textContent("#console-password")).toMatch(/^.{12,}$/);
        await seesStatus(page, words.running);
        await page.waitForSelector("#server-ssh >> text=203.0.113.");
        await fits(page);
        await owner.open(`/servers/${id}/network`);
        await fits(page);

        if (!words.choosesFirst) {
          await page.selectOption("#attach-firewall", { label: `wall-${words.name}` });
          await send(page, "form[action$='/attach-firewall'] button");
        }
        await page.waitForSelector(`#firewalls .status[data-tone=good]`);
        const { data: server } = await stack.world.organisation.GET("/servers/{server_id}", {
          params: { path: { server_id: id } },
        });
        expect(server).toMatchObject({
          status: "running",
          public_ips: [{ address: expect.stringMatching(/^203\.0\.113\./) }],
          interfaces: [{ private_ip: expect.stringMatching(new RegExp(`^10\\.${40 + index}\\.1\\.`)) }],
        });
        await takeScreenshots(page, `newcomer-${words.name}-server`);
        await page.setViewportSize(words.viewport);
      });

      test("opens its console, and resizes it", async () => {
        await owner.open(`/servers/${id}/console`);
        await page.waitForSelector("#console-state[data-state=open]", { timeout: 60_000 });
        await fits(page);
        await owner.open(`/servers/${id}`);
        await send(page, "a[href$='/resize']");
        await page.check("#package-m");
        await page.waitForSelector("#resize-summary button[value=resize]:enabled");
        await fits(page);
        await send(page, "#resize-summary button[value=resize]");
        await seesStatus(page, words.running);
        const { data } = await stack.world.organisation.GET("/servers/{server_id}", {
          params: { path: { server_id: id } },
        });
        expect(data).toMatchObject({ package: { slug: "m" }, status: "running" });
      });

      test("deletes it, cancels the deletion, and reads its usage and its audit trail", async () => {
        await owner.open(`/servers/${id}/settings`);
        await page.fill("#confirm-name", `first-${words.name}`);
        await send(page, "#delete button[type=submit]");
        await page.waitForSelector(".pending time");
        await fits(page);
        await page.waitForSelector(".pending form[action$='cancel-deletion'] button:enabled");
        await send(page, ".pending form[action$='cancel-deletion'] button");
        await seesStatus(page, words.running);

        await owner.open("/usage");
        await page.waitForSelector(`main table >> text=first-${words.name}`);
        await fits(page);
        await owner.open("/audit");
        await page.waitForSelector(".audit tbody tr");
        await fits(page);
        const trail = await stack.world.organisation.GET("/audit", { params: { query: { limit: 100 } } });
        const actions = new Set(trail.data?.items.map(({ action }) => action));
        for (const action of ["member.join", "server.create", "server.resize", "server.delete"])
          expect(actions).toContain(action);
        await page.waitForSelector(`.audit tbody >> text="${words.resized}"`);
        expect(complaintsBeyond(owner, 409, 422)).toEqual([]);
      });
    });
});
