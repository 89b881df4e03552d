import { madeUpload } from "@kule/api/testing/made-upload";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { complaintsBeyond, signIn, takeScreenshots, type WatchedPage } from "./testing/browser.ts";
import { look } from "./testing/page-look.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("certificates in a browser", { timeout: 240_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    await signIn(page, world.url);
  });

  const inTurkish = () => page.context().addCookies([{ name: "kule_language", value: "tr", url: world.url }]);

  test("the form shows only the fields of its type, and a refused one asks for the private key again", async () => {
    const { certificate, chain, private_key } = await madeUpload(["shop.example"]);
    await page.goto(`${world.url}/certificates`);
    await page.click("#content a[href='/certificates/new']");
    expect(await page.isVisible("#field-certificate")).toBe(true);
    expect(await page.isVisible("#field-domain_names")).toBe(false);
    await page.selectOption("#field-type", "managed");
    expect(await page.isVisible("#field-private_key")).toBe(false);
    expect(await page.isVisible("#field-domain_names")).toBe(true);
    await takeScreenshots(page, "certificate-create-managed");
    await page.selectOption("#field-type", "uploaded");
    // Of the two regions one has no agent yet.
    expect(await page.inputValue("#field-region")).toBe("ist1");
    await page.fill("#field-name", "shop");
    await page.fill("#field-certificate", certificate);
    await page.fill("#field-chain", "nothing");
    await page.fill("#field-private_key", private_key);
    await page.click(".certificate-form button[type=submit]");
    await page.waitForSelector("#chain-problem");
    expect(await page.inputValue("#field-certificate")).toBe(certificate.trim());
    expect(await page.inputValue("#field-private_key")).toBe("");
    expect(await look(page, "en", "certificates refused", "new")).toEqual([]);
    await page.fill("#field-chain", chain);
    await page.fill("#field-private_key", private_key);
    await page.click(".certificate-form button[type=submit]");
    await page.waitForSelector("text=The certificate is stored and can be used.");
    expect(complaintsBeyond(watched, 422)).toEqual([]);
  });

  test("a session that ends while a certificate is added keeps its name in the tab, and never its key", async () => {
    const { certificate, private_key } = await madeUpload(["shop.example"]);
    await page.goto(`${world.url}/certificates/new`);
    await page.fill("#field-name", "shop");
    await page.fill("#field-certificate", certificate);
    await page.fill("#field-private_key", private_key);
    await page.context().clearCookies({ name: "kule_session" });
    await page.click(".certificate-form button[type=submit]");
    await page.waitForURL("**/sign-in*");
    const kept = String(await page.evaluate("sessionStorage.getItem('kule-kept-forms')"));
    expect(kept).toContain('"shop"');
    expect(kept).not.toContain("PRIVATE KEY");
  });

  test.each(["en", "tr"] as const)(
    "every page of certificates is as it should be in %s",
    async (language) => {
      const { acme, agent } = world.real;
      const own = async (path: string, body: object) => done(acme.post(path, body));
      const notAfter = new Date(Date.now() + 20 * 86_400_000);
      const { certificate: uploaded } = await own("/certificates", {
        ...{ name: "shop", type: "uploaded", region: "ist1", labels: { env: "prod" } },
        ...(await madeUpload(["shop.example", "www.shop.example", "a.shop.example", "b.shop.example"], {
          notAfter,
        })),
      });
      await own("/domains", { name: "shop.example" });
      const managed = async (name: string, challenge: string, ...domain_names: string[]) => {
        const body = { name, type: "managed", region: "ist1", challenge, domain_names };
        const { certificate } = await own("/certificates", body);
        await agent.fail(await agent.take("CertificateRequest"));
        return certificate.id as string;
      };
      const dns = await managed("by dns", "dns", "shop.example", "*.shop.example");
      const http = await managed("by http", "http", "www.shop.example");
      const listener = { protocol: "https", port: 443, target_port: 8080, certificate_ids: [uploaded.id] };
      const { load_balancer: balancer } = await own("/load-balancers", {
        ...{ name: "front", subnet_id: world.facts.subnets.app, listeners: [listener] },
      });
      if (language === "tr") await inTurkish();
      const flaws: string[] = [];
      for (const [name, path] of [
        ["list", "/certificates"],
        ["new", "/certificates/new"],
        ["uploaded", `/certificates/${uploaded.id}`],
        ["dns", `/certificates/${dns}`],
        ["http", `/certificates/${http}`],
        ["material", `/certificates/${uploaded.id}/material`],
        ["settings", `/certificates/${uploaded.id}/settings`],
        ["listener", `/load-balancers/${balancer.id}/listeners/new`],
      ] as const) {
        await page.goto(world.url + path);
        if (name === "listener") await page.selectOption("#field-protocol", "https");
        flaws.push(...(await look(page, language, `certificates ${language} ${name}`, "new")));
      }
      expect(flaws).toEqual([]);
    },
  );
});
