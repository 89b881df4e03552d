import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { outside, probeWorldWires } from "@kule/testing/region-world";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityProblems, complaintsBeyond, takeScreenshots } from "../testing/browser.ts";
import { type PanelStack, type Signed, send, startPanelStack } from "../testing/panel-stack.ts";

const chromium = await requirePart("chromium", probeChromium, import.meta.filename);
const wires = await requirePart("wires", probeWorldWires, import.meta.filename);

/** Networks, gateways and firewalls as two people use them, verified by packets at the servers' consoles. */
describe.skipIf(chromium.missing || wires.missing)(
  "networks in the panel of a whole Kule, with packets",
  { timeout: 240_000 },
  () => {
    let stack: PanelStack;
    let english: Signed;
    let turkish: Signed;
    let network = "";
    const passwords = new Map<string, string>();
    const servers = new Map<string, string>();
    const consoles = new Map<string, Page>();

    beforeAll(async () => {
      stack = await startPanelStack({ hasWires: true });
      await giveAddress();
      english = await stack.signIn("organisation");
      turkish = await stack.signIn("organisation", { locale: "tr-TR" });
    }, 240_000);
    afterAll(() => stack?.end());

    /** As an operator: allocates one public address to the organisation. */
    async function giveAddress(): Promise<void> {
      const { operator, organisation } = stack.world;
      const { data: own } = await organisation.GET("/organisation", {});
      const { data: pool } = await operator.POST("/ip-pools", {
        body: {
          region: "lab1",
          name: "public",
          gateway: outside.nextHop,
          prefix_length: outside.prefixLength,
        },
      });
      const params = { path: { ip_pool_id: pool?.id ?? "" } };
      await operator.POST("/ip-pools/{ip_pool_id}/ranges", { params, body: { cidr: "203.0.113.64/28" } });
      const { response } = await operator.POST("/ip-pools/{ip_pool_id}/allocations", {
        params,
        body: { organisation_id: own?.id ?? "", count: 1 },
      });
      expect(response.status).toBeLessThan(300);
    }

    async function makeServer(name: string, subnet: string): Promise<void> {
      const { world } = stack;
      const { server, job, console_password } = await world.createServer(name, undefined, {
        subnet_id: subnet,
      });
      expect((await world.untilDone(job.id)).status).toBe("succeeded");
      servers.set(name, server.id);
      passwords.set(name, console_password ?? "");
    }

    const shown = (page: Page): Promise<string> =>
      page
        .locator(".xterm-rows > div")
        .allTextContents()
        .then((rows) => rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n"));
    const untilShown = (page: Page, text: RegExp) =>
      expect.poll(() => shown(page), { timeout: 60_000, interval: 100 }).toMatch(text);

    /** The server's console, open and signed in, in a tab that stays open. */
    async function consoleOf(name: string, by: Signed): Promise<Page> {
      const open = consoles.get(name);
      if (open !== undefined) return open;
      const page = await by.context.newPage();
      consoles.set(name, page);
      await page.goto(`${stack.url}/servers/${servers.get(name)}/console`);
      await page.waitForSelector("#console-state[data-state=open]", { timeout: 60_000 });
      await page.keyboard.press("Enter");
      await untilShown(page, /login:\s*$/);
      await page.keyboard.type("ubuntu\n");
      await untilShown(page, /Password:\s*$/);
      await page.keyboard.type(`${passwords.get(name)}\n`);
      await untilShown(page, /\$\s*$/);
      return page;
    }

    /** Types a line on a cleared screen, and returns the screen's text when the prompt is back. */
    async function types(page: Page, line: string): Promise<string> {
      await page.keyboard.press("Control+l");
      await expect.poll(() => shown(page), { timeout: 20_000 }).toMatch(/^\S+\$\s*$/);
      await page.keyboard.type(`${line}\n`);
      await untilShown(page, /\n\S+\$\s*$/);
      return await shown(page);
    }

    test("a network and its subnets are created, and become ready without a reload", async () => {
      const { page } = english;
      await english.open("/networks/new");
      await page.fill("#field-name", "shop");
      await page.fill("#field-cidr", "10.20.0.0/16");
      await send(page, "main form.form[action='/networks/new'] button[type=submit]");
      await page.waitForURL(/\/networks\/net_\w+\?notice=created/);
      network = new URL(page.url()).pathname.split("/").at(-1) ?? "";
      for (const [name, tier, cidr] of [
        ["app", "app", "10.20.1.0/24"],
        ["data", "data", "10.20.2.0/24"],
      ]) {
        await english.open(`/networks/${network}`);
        await page.click(`a[href='/networks/${network}/subnets/new']`);
        await page.fill("#field-name", name ?? "");
        await page.check(`input[name=tier][value=${tier}]`);
        await page.fill("#field-cidr", cidr ?? "");
        await send(page, `form[action$='/${network}/subnets/new'] button[type=submit]`);
        await page.waitForURL(/\/subnets\/sub_\w+\?notice=created/);
      }
      await english.open(`/networks/${network}`);
      await expect.poll(() => page.locator("tbody .status[data-tone=good]").count(), longTimeout).toBe(2);
      const subnets = await stack.world.organisation.GET("/networks/{network_id}/subnets", {
        params: { path: { network_id: network } },
      });
      const idOf = (name: string) => subnets.data?.items.find((each) => each.name === name)?.id ?? "";
      await Promise.all([makeServer("front", idOf("app")), makeServer("back", idOf("data"))]);
      // Both are on the map without a reload.
      await expect.poll(() => page.locator(".map[data-size=wide] .map-server").count(), longTimeout).toBe(2);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "system-network");
    });

    test("the reachability check of the page agrees with a ping at the console", async () => {
      const { page } = english;
      await english.open(`/networks/${network}`);
      await page.selectOption("#explain-from", servers.get("front") ?? "");
      await page.selectOption("#explain-to", servers.get("back") ?? "");
      await page.click("#explain button[type=submit]");
      await page.waitForSelector(".verdict[data-verdict=allowed]");
      const front = await consoleOf("front", english);
      expect(await types(front, "ping -c 2 10.20.2.2")).toMatch(/ttl=63[\s\S]* 0% packet loss/);
      await takeScreenshots(front, "system-console-ping");

      await page.selectOption("#explain-to", "address");
      await page.fill("input[name=to_address]", outside.beyond);
      await page.click("#explain button[type=submit]");
      await page.waitForSelector(".verdict[data-verdict=denied]");
      expect(await types(front, `ping -c 1 ${outside.beyond}`)).toContain("100% packet loss");
    });

    test("a gateway gives internet access to the subnets that it serves, in Turkish", async () => {
      const { page } = turkish;
      await turkish.open(`/networks/${network}`);
      await page.click(`a[href='/gateways/new?network=${network}']`);
      expect(await page.getAttribute("html", "lang")).toBe("tr");
      expect(await page.locator("input[name=subnet_ids]:disabled").count()).toBe(1);
      await page.fill("#field-name", "out");
      for (const box of await page.locator("input[name=subnet_ids]:enabled").all()) await box.check();
      await send(page, "#content button[data-kind=primary]");
      await page.waitForURL(/\/gateways\/gw_/);
      await page.waitForSelector(".resource-head .status >> text=etkin", longTimeout);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "system-gateway-tr");
      const front = await consoleOf("front", english);
      expect(await types(front, `curl http://${outside.beyond}/`)).toContain(
        "Hello from the internet. You are 203.0.113.64.",
      );
      const back = await consoleOf("back", turkish);
      expect(await types(back, `ping -c 1 ${outside.beyond}`)).toContain("100% packet loss");
      await turkish.open(`/networks/${network}`);
      await page.waitForSelector(".map[data-size=wide] .map-gateway");
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "system-network-tr");
    });

    test("a firewall blocks a server except for its allow rules, and another rule opens it", async () => {
      const { page } = english;
      await english.open("/firewalls/new");
      await page.fill("#field-name", "store");
      await page.selectOption("#field-start", "web");
      await send(page, "main form.form[action='/firewalls/new'] button[type=submit]");
      await page.waitForURL(/\/firewalls\/\w+\?notice=created/);
      await page.selectOption("#attach-target", servers.get("back") ?? "");
      await page.click("#attach-form button[type=submit]");
      await page.waitForSelector("#attachments .status[data-tone=good]", longTimeout);
      expect(await accessibilityProblems(page)).toEqual([]);
      await takeScreenshots(page, "system-firewall");
      const front = await consoleOf("front", english);
      expect(await types(front, "ping -c 1 10.20.2.2")).toContain("100% packet loss");
      const back = await consoleOf("back", turkish);
      await back.keyboard.type("python3 -m http.server 80\n");
      await untilShown(back, /Serving HTTP/);
      expect(await types(front, "curl http://10.20.2.2/")).toContain("Hello from back. You are 10.20.1.2.");

      await turkish.open(new URL(page.url()).pathname);
      await turkish.page.click(".page-acts a[href$='/rules']");
      await turkish.page.click("#add-rule");
      await turkish.page.waitForSelector("#rule-1-protocol");
      await turkish.page.selectOption("#rule-1-protocol", "icmp");
      await turkish.page.click(".rule-save button");
      await turkish.page.waitForSelector("#attachments .status[data-tone=good]", longTimeout);
      await expect
        .poll(() => types(front, "ping -c 1 10.20.2.2"), { ...longTimeout, interval: 500 })
        .toContain(" 0% packet loss");
    });

    test("a deleted gateway gives no internet access, in Turkish", async () => {
      const { page } = turkish;
      await turkish.open("/gateways");
      await page.click("#gateway-list a[href^='/gateways/gw_']");
      await page.click(".tabs a[href$='/settings']");
      await page.fill("#confirm-name", "out");
      await page.click("#delete button[type=submit]");
      await page.waitForURL(/\/gateways\?notice=gone/, longTimeout);
      const front = await consoleOf("front", english);
      expect(await types(front, `ping -c 1 ${outside.beyond}`)).toContain("100% packet loss");
      expect(await types(front, "ping -c 1 10.20.2.2")).toContain(" 0% packet loss");
      // The deleted gateway answers 404 to the page that polls it.
      for (const watched of [english, turkish]) expect(complaintsBeyond(watched, 404)).toEqual([]);
    });
  },
);

const longTimeout = { timeout: 60_000 };
