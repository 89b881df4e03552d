import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { fieldIn, tokenIn, type Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const choices = { region: "ist1", image: "ubuntu-24.04", package: "s", start: "on", intent: "create" };
const servers = () => world.real.list("/servers");
const passwordOn = (page: string) => /<code id="console-password">([^<]+)</.exec(page)?.[1];

/** The values of a filled form of a new server, with the page's own token and key. */
async function filled(name: string): Promise<Readonly<Record<string, string>>> {
  const page = await ada.page("/servers/new");
  const key = fieldIn(page, "idempotency_key") ?? "";
  return { ...choices, form_token: tokenIn(page), idempotency_key: key, name };
}

async function createServer(name: string): Promise<string> {
  const response = await ada.post("/servers/new", await filled(name));
  expect(response.status).toBe(303);
  return response.headers.get("location") ?? "";
}

test("the password is on the next page once, and in no log, address or reload", async () => {
  const page = await createServer("web-1");
  const first = await ada.page(page);
  const password = passwordOn(first) ?? "";
  expect(password).toMatch(/^\S{12,}$/);
  expect(page).not.toContain(password);
  expect(first).toMatch(/<dd class="mono">ubuntu/);
  expect(await ada.page(page)).not.toContain(password);
  expect(world.logged()).not.toContain(password);
  expect(world.logged()).not.toContain(world.facts.people.ada.session.token);
});

test("a refresh of a part of the page does not use the password up", async () => {
  const page = await createServer("web-1");
  const part = await (await ada.get(page, { "hx-request": "true" })).text();
  expect(passwordOn(part)).toBeUndefined();
  expect(passwordOn(await ada.page(page))).toBeDefined();
});

test("the same form sent twice creates one server, and only the first answer holds the password", async () => {
  const fields = await filled("web-1");
  const first = await ada.post("/servers/new", fields);
  const second = await ada.post("/servers/new", fields);
  expect(await servers()).toHaveLength(1);
  expect(second.headers.get("location")).toBe(`${first.headers.get("location")}?password=withheld`);
  ada.cookies.delete("kule_once");
  expect(await ada.page(second.headers.get("location") ?? "")).toContain("cannot be shown again");
});

test("two concurrent clicks create one server, and both answers can show the password", async () => {
  const fields = await filled("web-1");
  const answers = await Promise.all([ada.post("/servers/new", fields), ada.post("/servers/new", fields)]);
  expect(await servers()).toHaveLength(1);
  expect(answers.map(({ status }) => status)).toEqual([303, 303]);
  const location = answers[1]?.headers.get("location") ?? "";
  expect(location).not.toContain("withheld");
  expect(passwordOn(await ada.page(location))).toBeDefined();
});

test("field errors are shown beside their fields, with all other values kept", async () => {
  const response = await ada.submit("/servers/new", "/servers/new", {
    ...choices,
    name: "123",
    image: "windows-2025",
    package: "s",
    protect: "on",
  });
  expect(response.status).toBe(422);
  const page = await response.text();
  expect(page).toContain('id="name-problem"');
  expect(page).toContain('id="package-problem"');
  expect(page).toContain("Fix the 2 highlighted fields");
  expect(page).toMatch(/id="image-windows-2025"[^>]*checked/);
  expect(page).toMatch(/id="protect"[^>]*checked/);
  expect(await servers()).toEqual([]);
});

test("refusals are listed before anything is sent, and nothing is written", async () => {
  const preview = async () => {
    const answer = await ada.submit("/servers/new", "/servers/new/preview", { ...choices, name: "web-1" });
    return answer.text();
  };
  await done(world.real.operator.patch("/regions/ist1", { maintenance: true }));
  const page = await preview();
  expect(page).toContain("Region ist1 is in maintenance");
  // The button is disabled, with the reason beside it, until the check finds no refusal.
  const buttons = (html: string) =>
    [...html.matchAll(/<button[^>]*value="create"[^>]*>/g)].map(([tag]) => tag);
  expect(buttons(page)).toHaveLength(2);
  for (const button of buttons(page)) expect(button).toContain("disabled");
  expect(page).toContain("Check again");
  await done(world.real.operator.patch("/regions/ist1", { maintenance: false }));
  const free = buttons(await preview());
  expect(free).toHaveLength(2);
  for (const button of free) expect(button).not.toContain("disabled");
  expect(await servers()).toEqual([]);
});

test("a region that has no images says so beside them, in both languages, and nothing is asked of the API", async () => {
  for (const [language, said] of [
    ["en", "This region has no images yet. Choose another region."],
    ["tr", "Bu bölgede henüz imaj yok. Başka bir bölge seçin."],
  ] as const) {
    const visitor = await world.signedIn("ada", { "accept-language": language });
    const fields = { ...choices, name: "web-1", region: "ank1" };
    const answer = await visitor.submit("/servers/new", "/servers/new/preview", fields);
    expect(await answer.text()).toContain(`id="image-problem">${said}`);
  }
  expect(world.api.sent).toEqual([]);
});

test("the first choice of a subnet is where the API puts a server without one, or asks for a choice", async () => {
  const { acme } = world.real;
  /** The text of the choice, and whether the check finds nothing wrong with it. */
  const first = async () => {
    const answer = await ada.submit("/servers/new", "/servers/new/preview", { ...choices, name: "web-1" });
    const page = await answer.text();
    const text = /<option value="" selected[^>]*>\s*([^<]+?)\s*<[\s\S]*<\/select>/.exec(
      /<select id="field-subnet_id"[\s\S]*?<\/select>/.exec(page)?.[0] ?? "",
    )?.[1];
    return [text, page.includes('class="ready"')];
  };
  const addNetwork = async (name: string) =>
    (await done(acme.post("/networks", { name, region: "ist1" }))).network.id;
  const addSubnet = (network: string, name: string) =>
    done(acme.post(`/networks/${network}/subnets`, { name, tier: "app" }));
  const byDefault = ["The default network (created if there is none)", true];
  expect(await first()).toEqual(byDefault);
  const shop = await addNetwork("shop");
  expect(await first()).toEqual(["Choose a subnet", false]);
  await addSubnet(shop, "app");
  expect(await first()).toEqual(["The only subnet of the region", true]);
  await addSubnet(shop, "jobs");
  expect(await first()).toEqual(["Choose a subnet", false]);
  await addSubnet(await addNetwork("default"), "app");
  expect(await first()).toEqual(byDefault);
});

test("a subnet that was chosen is no choice in another region", async () => {
  const { acme } = world.real;
  const { network } = await done(acme.post("/networks", { name: "shop", region: "ank1" }));
  const { subnet } = await done(acme.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }));
  const fields = { ...choices, name: "web-1", subnet_id: subnet.id };
  const page = await (await ada.submit("/servers/new", "/servers/new/preview", fields)).text();
  expect(page).not.toContain(subnet.id);
  expect(page).toContain('class="ready"');
  expect(world.api.sent.at(-1)?.body).not.toHaveProperty("subnet_id");
});

test("a package that is too small for an image names the smallest one that fits", async () => {
  const response = await ada.submit("/servers/new", "/servers/new/preview", {
    ...choices,
    name: "win-1",
    image: "windows-2025",
  });
  const page = await response.text();
  // `m` has the 4 GB that Windows needs: its memory is not the reason.
  expect(page.match(/Windows Server 2025 needs package L or larger/g)).toHaveLength(2);
  expect(page).not.toContain('of memory</span><span class="why"');
});

test("a Windows server that is not started gets no password, and the form says so", async () => {
  const preview = async (start: object) => {
    const { start: _, ...others } = choices as Record<string, string>;
    const fields = { ...others, name: "win-1", image: "windows-2025", package: "l", ...start };
    return (await ada.submit("/servers/new", "/servers/new/preview", fields)).text();
  };
  expect(await preview({ start: "on" })).toContain("an administrator password is generated and shown once");
  expect(await preview({})).toContain("a server that is not started gets no password");
});

test("a text in the wrong format is explained by an example, in both languages", async () => {
  const visitors = [ada, await world.signedIn("ada", { "accept-language": "tr" })];
  const said = (path: string, fields: Record<string, string>) =>
    Promise.all(
      visitors.map(async (visitor) => {
        const answer = await visitor.submit(path, path, { region: "ist1", ...fields });
        return /class="problem"[^>]*>([^<]*)/.exec(await answer.text())?.[1]?.trim();
      }),
    );
  const range = "10.1.0.0/16 gibi bir aralık girin.";
  expect(await said("/networks/new", { name: "lab", cidr: "ten" })).toEqual([
    "Enter a range such as 10.1.0.0/16.",
    range,
  ]);
  // A rule of the API has words of its own, in English.
  expect(await said("/networks/new", { name: "lab", cidr: "10.1.2.3/16" })).toEqual([
    "Has bits set beyond its prefix; send the first address of the block.",
    range,
  ]);
  expect(await said("/public-ips/new", { version: "4", ptr: "no name" })).toEqual([
    "Enter a domain name such as mail.example.org.",
    "mail.example.org gibi bir alan adı girin.",
  ]);
});

test("while the API does not answer nothing is lost, and a repeat creates one server", async () => {
  const fields = await filled("web-1");
  world.api.away = true;
  const away = await ada.post("/servers/new", fields);
  expect(away.status).toBe(503);
  const kept = await away.text();
  expect(fieldIn(kept, "name")).toBe("web-1");
  expect(fieldIn(kept, "idempotency_key")).toBe(fields.idempotency_key);
  world.api.away = false;
  const again = await ada.post("/servers/new", { ...fields, form_token: tokenIn(kept) });
  expect(again.status).toBe(303);
  expect(await servers()).toHaveLength(1);
});

test("user input is rendered as text, never as markup", async () => {
  const nasty = '"><img src=x onerror=alert(1)>';
  const response = await ada.submit("/servers/new", "/servers/new", { ...choices, name: nasty });
  const page = await response.text();
  expect(page).not.toContain("<img");
  expect(page).toContain("&quot;&gt;&lt;img");
});
