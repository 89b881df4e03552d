import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { complaintsBeyond, signIn, takeScreenshots, type WatchedPage } from "./testing/browser.ts";
import { addDomain, changeAtProvider, serve, sign } from "./testing/domain-states.ts";
import type { PanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { sceneInBrowser } from "./testing/scene-in-browser.ts";
import { networks } from "./testing/scenes/networks.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

describe.skipIf(part.missing)("domains in a browser", { timeout: 120_000 }, () => {
  let world: PanelWorld<FactsOf<typeof networks>>;
  let watched: WatchedPage;
  let page: Page;

  sceneInBrowser(networks, 25_000, async (panel) => {
    ({ world, watched, page } = panel);
    await signIn(page, world.url);
  });

  test("records are added and edited in their row without leaving the page, and a domain's tabs say what to do", async () => {
    const zone = '@ MX 10 mail.shop.example.\n@ TXT "v=spf1 mx -all"\nmail A 192.0.2.25\nwww A 192.0.2.10\n';
    const id = await addDomain(world.real, "shop.example", { zone_file: zone });
    await done(
      world.real.acme.put(`/domains/${id}/records/app/A`, {
        values: [`auto:${world.facts.servers["app-1"]}`],
      }),
    );
    await serve(world.real, id);
    const waiting = await addDomain(world.real, "waiting.example", { description: "The new shop" });
    const at = `${world.url}/domains/${id}`;
    await page.goto(at);
    await page.evaluate("window.stayed = true");
    await takeScreenshots(page, "domain-records");
    await page.click(".record-acts a[data-kind=primary]");
    await page.waitForSelector("#record");
    await takeScreenshots(page, "domain-record-add");
    await page.click("#record .record-form-acts a");
    await page.waitForSelector("#record", { state: "detached" });
    await page.click("a[aria-label='Edit www A']");
    await page.waitForSelector(".record-edited #record");
    await takeScreenshots(page, "domain-record-edit");
    expect(await page.evaluate("window.stayed")).toBe(true);
    await page.fill("#field-values", "192.0.2.11");
    await page.click("#record button[data-kind=primary]");
    await page.waitForSelector("text=The record is saved.");
    expect(await page.textContent("#record-list")).toContain("192.0.2.11");
    await page.goto(`${at}/import`);
    await page.fill("#field-zone_file", "www A 192.0.2.99\nnew 60 A 192.0.2.3\n");
    await page.check("input[value=replace]");
    await page.click("main form.form button[type=submit]");
    await page.waitForSelector("#preview");
    await takeScreenshots(page, "domain-import");
    await changeAtProvider(world.real, id);
    await sign(world.real, id);
    for (const [path, name] of [
      ["s", "domains"],
      ["s/new", "domain-create"],
      [`s/${waiting}/delegation`, "domain-prove"],
      [`s/${id}/delegation?check=now`, "domain-delegation"],
      [`s/${id}/dnssec`, "domain-dnssec"],
      [`s/${id}/settings`, "domain-settings"],
    ]) {
      await page.goto(`${world.url}/domain${path}`);
      await takeScreenshots(page, name ?? "");
    }
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("chosen records stay chosen while others are edited, and go after their number is typed", async () => {
    const zone = "a A 192.0.2.1\nb A 192.0.2.2\nc A 192.0.2.3\n";
    const id = await addDomain(world.real, "shop.example", { zone_file: zone });
    await serve(world.real, id);
    await page.goto(`${world.url}/domains/${id}`);
    expect(await page.isVisible(".selection-bar")).toBe(false);
    await page.check("input[value='A/a']");
    await page.check("input[value='A/b']");
    await page.click("a[aria-label='Edit c A']");
    await page.waitForSelector(".record-edited #record");
    await page.click("#record .record-form-acts a");
    await page.waitForSelector("#record", { state: "detached" });
    await takeScreenshots(page, "domain-records-chosen");
    await page.click(".selection-bar button");
    await page.waitForSelector("#preview");
    await takeScreenshots(page, "domain-records-delete");
    expect(await page.isDisabled("#preview button[type=submit]")).toBe(true);
    await page.fill("#confirm-selected", "2");
    await page.click("#preview button[type=submit]");
    await page.waitForSelector("text=The records are deleted.");
    expect(await page.textContent("#record-list")).toContain("192.0.2.3");
    expect(await page.textContent("#record-list")).not.toMatch(/192\.0\.2\.[12]/);
    expect(complaintsBeyond(watched)).toEqual([]);
  });

  test("a refused record far down in the table is in view, and its wrong field has the focus", async () => {
    const zone = Array.from({ length: 60 }, (_, at) => `h${at} A 192.0.2.${at}\n`).join("");
    const id = await addDomain(world.real, "shop.example", { zone_file: zone });
    await serve(world.real, id);
    await page.goto(`${world.url}/domains/${id}?edit=h9&edit_type=A#record`);
    await page.fill("#field-values", "here");
    await page.click("#record button[data-kind=primary]");
    await page.waitForSelector("#values-problem");
    await page.waitForSelector("#field-values:focus");
    const top = "document.querySelector('#values-problem').getBoundingClientRect().top";
    expect(await page.evaluate(`${top} > 0 && ${top} < innerHeight`)).toBe(true);
  });
});
