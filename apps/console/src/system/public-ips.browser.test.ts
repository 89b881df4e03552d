import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsBeyond } from "../testing/browser.ts";
import { type PanelStack, type Signed, startPanelStack } from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** Public addresses from the operator's pool to the VM, and back. */
describe.skipIf(part.missing)("public addresses in the panel of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let operator: Signed;
  let owner: Signed;
  const servers: string[] = [];
  beforeAll(async () => {
    stack = await startPanelStack();
    const { world } = stack;
    const created = await Promise.all(["first", "second"].map((name) => world.createServer(name)));
    await Promise.all(created.map(({ job }) => world.untilDone(job.id)));
    servers.push(...created.map(({ server }) => server.id));
    operator = await stack.signIn("operator");
    owner = await stack.signIn("organisation", { locale: "tr-TR" });
  }, 240_000);
  afterAll(() => stack?.end());

  /** The addresses that the guest of a server has. */
  const guestOf = async (id: string | undefined): Promise<string> => {
    const answer = await fetch(`${stack.world.labControlUrl}/vms`);
    const all = (await answer.json()) as {
      config: Record<string, unknown>;
      guest: { addresses?: unknown } | null;
    }[];
    const vm = all.find(({ config }) => String(config.description ?? "").includes(id ?? "?"));
    return JSON.stringify(vm?.guest?.addresses ?? null);
  };

  test("an address that is not allocated is refused in the page's language", async () => {
    await owner.open("/public-ips/new");
    await owner.page.click("main .form button[type=submit]");
    await owner.page.waitForSelector("text=boş genel adresi yok");
  });

  test("an operator creates pools of both versions and allocates addresses to an organisation", async () => {
    const { page } = operator;
    for (const [name, gateway, prefix, range] of [
      ["public", "203.0.113.1", "24", "203.0.113.0/28"],
      ["public six", "2001:db8:77::1", "64", "2001:db8:77::10 - 2001:db8:77::1f"],
    ] as const) {
      await operator.open("/ip-pools/new");
      await page.fill("#field-name", name);
      await page.fill("#field-gateway", gateway);
      await page.fill("#field-prefix_length", prefix);
      await page.click("main .form button[type=submit]");
      await page.waitForURL(/\/ip-pools\/[^/]+\?notice=created/);
      await page.fill("#field-range", range);
      await page.click("#ranges .form button");
      await page.waitForSelector("text=The range is added");
      await page.fill("#field-count", "1");
      await page.click("#allocate button[type=submit]");
      await page.waitForSelector("text=The addresses are allocated");
    }
  });

  test("an address is reserved, attached, named, moved and verified on the VMs at each step", async () => {
    const { page } = owner;
    await owner.open("/public-ips/new");
    await page.click("main .form button[type=submit]");
    const address = await page.textContent("#public-ip-address");
    expect(address).toMatch(/^203\.0\.113\./);
    const attach = async (id: string | undefined) => {
      await page.selectOption("#placement select[name=server_id]", id ?? "");
      await page.click("#placement form[action$='/attach'] button");
      await page.waitForSelector(`#resource-live dd a[href='/servers/${id}']`);
      await page.waitForSelector(`.resource-head .status >> text="bağlı"`);
    };
    await attach(servers[0]);
    expect(await guestOf(servers[0])).toContain(address);

    await page.click(".tabs a[href$='/settings']");
    await page.fill("#settings input[name=ptr]", "no name");
    await page.click("#settings form button");
    await page.waitForSelector("#settings .problem");
    await page.fill("#settings input[name=ptr]", "web.example.org");
    await page.click("#settings form button");
    await page.waitForSelector("main > .banner[data-kind=notice]");
    await page.click(".tabs a >> nth=0");
    await page.waitForSelector("#resource-live dd >> text=web.example.org");

    await attach(servers[1]);
    expect(await guestOf(servers[1])).toContain(address);
    expect(await guestOf(servers[0])).not.toContain(address);
  });

  test("another is reserved from the server's own page; both are detached, and one is released", async () => {
    const { page } = owner;
    await owner.open(`/servers/${servers[1]}/network`);
    await page.click("#public-ips form[action$='take-address']:has(input[value='6']) button");
    const row = (address: string) => page.locator("#public-ips .address-row", { hasText: address });
    await row("2001:db8:77::").locator(`.status >> text="bağlı"`).waitFor();
    expect(await guestOf(servers[1])).toContain("2001:db8:77::");
    await row("203.0.113.").locator("form button:enabled").click();
    await expect
      .poll(() => page.locator("#public-ips .address-row").count(), { timeout: 40_000, interval: 200 })
      .toBe(1);
    await owner.open("/public-ips");
    const free = page.locator("#public-ip-list tbody tr", { hasText: "203.0.113." });
    await free.locator(".status >> text=boşta").waitFor();
    await free.locator("th a").click();
    await page.click(".tabs a[href$='/settings']");
    await page.click("#danger .confirm > summary");
    await page.click("#danger form[action$='/delete'] button");
    await page.waitForSelector("text=Adres bırakıldı");
    expect(await page.locator("#public-ip-list tbody tr").count()).toBe(1);
    await operator.open("/ip-pools");
    await operator.page.click("text=public six");
    await operator.page.waitForSelector(`#allocations .status >> text="reserved"`);
    await operator.page.click(".tabs a[href$='/settings']");
    await operator.page.waitForSelector("#delete");
    expect(await operator.page.isDisabled("#delete button")).toBe(true);
    expect(complaintsBeyond(owner, 409, 422)).toEqual([]);
    expect(operator.complaints).toEqual([]);
  });
});
