import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { operations } from "@kule/contract/generated/operations";
import { findChromium, probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiWorld } from "../../testing/api-world.ts";

const browser = await requirePart("chromium", probeChromium, import.meta.filename);
let world: ApiWorld;

beforeAll(async () => {
  world = await ApiWorld.open();
});
afterAll(() => world.close());

describe("the reference page", () => {
  test("loads nothing from other hosts, and may not", async () => {
    const page = await world.app.request("/api/v1/docs");
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    const loaded = [...(await page.text()).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url);
    expect(loaded).toEqual(["data:,", "docs/reference.css", "openapi.json", "docs/reference.js"]);
  });

  test.each([
    ["/docs/reference.js", "text/javascript; charset=utf-8", "SwaggerUIBundle({"],
    ["/docs/reference.css", "text/css; charset=utf-8", ".swagger-ui"],
  ])("brings %s itself", async (path, type, content) => {
    const file = await world.app.request(`/api/v1${path}`);
    expect(file.headers.get("content-type")).toBe(type);
    expect(await file.text()).toContain(content);
  });

  test.skipIf(browser.missing)(
    "shows every operation of the contract in a browser, without an error",
    async () => {
      const server = serve({ fetch: world.app.fetch, port: 0, hostname: "127.0.0.1" });
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const context = await chromium.launchPersistentContext(mkdtempSync(join(tmpdir(), "kule-reference-")), {
        executablePath: findChromium() ?? "",
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
      try {
        const page = await context.newPage();
        const problems: string[] = [];
        page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
        page.on("pageerror", (error) => problems.push(error.message));
        await page.goto(`http://127.0.0.1:${port}/api/v1/docs`);
        await page.waitForSelector(".opblock-tag");
        // One after the other: with every tag open the page stops rendering at some 130 operations, without
        // an error.
        const shown: string[] = [];
        for (const tag of await page.locator(".opblock-tag-section").all()) {
          await tag.locator(".opblock-tag").click();
          await tag.locator(".opblock").first().waitFor();
          for (const operation of await tag.locator(".opblock-summary").all()) {
            const [method, path] = await Promise.all([
              operation.locator(".opblock-summary-method").textContent(),
              operation.locator(".opblock-summary-path").getAttribute("data-path"),
            ]);
            shown.push(`${method?.toLowerCase()} ${path}`);
          }
          await tag.locator(".opblock-tag").click();
        }
        const all = Object.values(operations).map(({ method, path }) => `${method} ${path}`);
        expect(shown.sort()).toEqual(all.sort());
        expect(problems).toEqual([]);
        if (process.env.KULE_SCREENSHOTS === "1")
          await page.screenshot({ path: "screenshots/reference.png" });
      } finally {
        await context.close();
        server.close();
      }
    },
    60_000,
  );
});
