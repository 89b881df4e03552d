import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsBeyond } from "../testing/browser.ts";
import {
  type PanelStack,
  type Signed,
  seesStatus,
  send,
  serverIdOf,
  startPanelStack,
} from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** Operators' actions, and their effects for an organisation. */
describe.skipIf(part.missing)("the operators' pages of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let operator: Signed;
  let owner: Signed;
  let server: string;
  beforeAll(async () => {
    stack = await startPanelStack();
    const created = await stack.world.createServer("tower");
    await stack.world.untilDone(created.job.id);
    server = created.server.id;
    operator = await stack.signIn("operator");
    owner = await stack.signIn("organisation");
  }, 240_000);
  afterAll(() => stack?.end());

  test("a lock disables the customer's buttons with its reason, and unlocking enables them", async () => {
    const { page } = operator;
    await operator.open(`/servers/${server}`);
    await page.click("a[href$='/lock']");
    await page.fill("[name=reason]", "Abuse report 4711");
    await page.click("form[action$='/lock'] button[type=submit]");
    await page.waitForSelector("text=The server is locked");
    await owner.open(`/servers/${server}`);
    await owner.page.waitForSelector(".banner >> text=Abuse report 4711");
    await owner.page.click("#power > summary");
    expect(await owner.page.textContent("#power-stop")).toContain("Abuse report 4711");
    for (const [tab, button] of [
      ["", "#power button[value=stop]"],
      ["/network", "#public-ips button"],
      ["/settings", "#delete button"],
    ]) {
      await owner.open(`/servers/${server}${tab}`);
      expect(
        await owner.page
          .locator(button ?? "")
          .first()
          .isDisabled(),
        button,
      ).toBe(true);
    }
    await send(page, "button[formaction$='/unlock']");
    await page.waitForSelector(".status >> text=Not locked");
    await owner.open(`/servers/${server}/settings`);
    await owner.page.waitForSelector("#confirm-name");
  });

  test("a quota is set, shown to the organisation, and refuses a create with its numbers", async () => {
    const { page } = operator;
    await operator.open("/organisations");
    await page.click("main table a[href^='/organisations/org_']");
    await page.fill("input[name=servers]", "1");
    await page.click("#quotas button[type=submit]");
    await page.waitForSelector("text=The limits are set");
    await owner.open("/usage");
    await owner.page.waitForSelector("text=1 of 1");
    await owner.open("/servers/new");
    await owner.page.fill("#field-name", "one-too-many");
    await owner.page.waitForSelector(".summary .blockers >> text=1 of at most 1");
    expect(await owner.page.isDisabled(".summary button[value=create]")).toBe(true);
    await page.fill("input[name=servers]", "");
    await send(page, "#quotas button[type=submit]");
    expect(await page.inputValue("input[name=servers]")).toBe("");
  });

  test("the capacity check uses the capacity that the agent measured", async () => {
    const { page } = operator;
    await operator.open("/operator/regions");
    await page.waitForSelector("#region-lab1 .status >> text=In order");
    const ask = async (count: string) => {
      await page.selectOption("select[name=package]", "xxxl");
      await page.fill("input[name=count]", count);
      await page.click("form:has(input[name=count]) button");
    };
    await ask("1");
    await page.waitForSelector("text=Yes, there is room for 1.");
    await ask("50");
    await page.waitForSelector("text=No, there is no room for 50.");
  });

  test("a VM created by hand is found, imported while it runs, and protected", async () => {
    const { page } = operator;
    await stack.changeOutsideKule("stealVmid", 28_000);
    await stack.changeOutsideKule("setPower", 28_000, true);
    await operator.open("/operator/drift");
    await page.waitForSelector(`th >> text="28000"`);
    await page.click("td.row-act a");
    await page.fill("#field-name", "legacy");
    await page.click(".summary button[value=check]");
    await page.waitForSelector(".summary .ready");
    await page.click(".summary button[value=import]");
    await page.waitForURL(/\/servers\/srv_/);
    await page.waitForSelector("h2 >> text=Import VM");
    await seesStatus(page, "running");
    const vm = (await stack.world.vms()).find(({ vmid }) => vmid === 28_000);
    expect(vm).toMatchObject({ running: true, description: expect.stringContaining(serverIdOf(page)) });
    expect(stack.world.effects().destroys.size).toBe(0);
    // It differs from its size: its owner and the operators see that.
    await page.waitForSelector("#drift");
    await page.click(".tabs a[href$='/settings']");
    await page.waitForSelector("#delete .why >> text=protected");
    await operator.open("/operator/drift?kind=changed");
    await page.waitForSelector(`th >> text="28000"`);
  });

  test("an import of a VM that does not exist is refused with the reason and leaves nothing", async () => {
    const { page } = operator;
    await operator.open("/operator/import");
    await page.check("#vmid-other");
    await page.fill("input[name=other_vmid]", "29123");
    await page.fill("#field-name", "ghost");
    await page.click(".summary button[value=import]");
    await page.waitForSelector("main >> text=VM 29123 of region lab1");
    expect(await page.inputValue("input[name=other_vmid]")).toBe("29123");
    await operator.open("/servers?q=ghost");
    await page.waitForSelector("text=Nothing matches");
  });

  test("a region is registered, its agent's token shown once and revoked, and no invariant is violated", async () => {
    const { page } = operator;
    await operator.open("/operator/regions");
    await page.click("a[href='/operator/regions/new']");
    await page.fill("#field-slug", "lab1");
    await page.fill("#field-name", "Ankara 1");
    await page.fill("#field-vmid_first", "40000");
    await page.fill("#field-vmid_last", "40099");
    await page.click("main .form button[type=submit]");
    await page.waitForSelector("#slug-problem");
    expect(await page.inputValue("#field-vmid_last")).toBe("40099");
    await page.fill("#field-slug", "ank1");
    await page.click("main .form button[type=submit]");
    await page.waitForURL(/\/operator\/regions\/ank1/);
    await page.fill("#field-token_name", "agent-1");
    await page.click("#tokens .row-form button");
    const secret = (await page.textContent("#agent-token"))?.trim() ?? "";
    const claims = () =>
      fetch(`${stack.world.apiUrl}/agent/health`, {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: "{}",
      }).then(({ status }) => status);
    expect(await claims()).toBe(422);
    await page.reload();
    expect(await page.content()).not.toContain(secret);
    await page.click("#tokens .confirm:has(button[data-kind=danger]) > summary");
    await page.click("#tokens .confirm button[data-kind=danger]");
    await page.waitForSelector("#tokens .status >> text=revoked");
    await expect.poll(claims, { timeout: 10_000 }).toBe(401);

    await operator.open("/operator/invariants");
    await send(page, ".page-head form button");
    await page.waitForSelector(".status >> text=in order");
    await page.click("#promise-I11 > summary");
    expect(await page.locator("#promise-I11 li").count()).toBeGreaterThan(1);
    expect(complaintsBeyond(operator, 404, 409)).toEqual([]);
    expect(complaintsBeyond(owner, 409)).toEqual([]);
  });
});
