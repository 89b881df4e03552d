import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../testing/console-world.ts";
import { seedEverything } from "../testing/seed-everything.ts";
import { Visitor } from "../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
  const { networks, firewalls, gateways, sshKeys, publicIps } = world.api.state;
  for (const [kind, records] of Object.entries({ networks, firewalls, gateways, sshKeys, publicIps })) {
    const [first] = records;
    if (first === undefined) throw new Error(`no ${kind}`);
    const other = { ...structuredClone(first), id: `${first.id.slice(0, -3)}zzz` };
    if ("region" in other) other.region = "ank1";
    Object.assign(first, { labels: { role: "first" } });
    Object.assign(other, "name" in other ? { name: "zebra" } : { address: "203.0.113.99" });
    (records as unknown[]).push(other);
  }
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const records = (page: string): readonly { readonly id: string }[] => {
  const { state } = world.api;
  if (page === "/networks") return state.networks;
  if (page === "/firewalls") return state.firewalls;
  if (page === "/gateways") return state.gateways;
  return page === "/ssh-keys" ? state.sshKeys : state.publicIps;
};
const firstOf = (page: string) => `id="${records(page)[0]?.id}"`;
const otherOf = (page: string) => `id="${records(page).at(-1)?.id}"`;

describe.each(["/networks", "/firewalls", "/gateways", "/ssh-keys"])("%s", (page) => {
  test("is filtered by the beginning of a name, as typed", async () => {
    const html = await ada.page(`${page}?q=zeb`);
    expect(html).toContain(otherOf(page));
    expect(html).not.toContain(firstOf(page));
    expect(html).toContain('value="zeb"');
  });
});

test("addresses are filtered by a part of them", async () => {
  const html = await ada.page("/public-ips?q=203.0.113.9");
  expect(html).toContain(otherOf("/public-ips"));
  expect(html).not.toContain(firstOf("/public-ips"));
});

describe.each(["/networks", "/firewalls", "/gateways", "/public-ips"])("%s", (page) => {
  test("is filtered by region", async () => {
    const html = await ada.page(`${page}?region=ank1`);
    expect(html).toContain(otherOf(page));
    expect(html).not.toContain(firstOf(page));
    expect(html).toMatch(/value="ank1" selected/);
  });
});

describe.each(["/networks", "/firewalls", "/gateways", "/ssh-keys", "/public-ips"])("%s", (page) => {
  test("is filtered by labels, and explains an invalid selector", async () => {
    const html = await ada.page(`${page}?labels=role%3Dfirst`);
    expect(html).toContain(firstOf(page));
    expect(html).not.toContain(otherOf(page));
    const wrong = await ada.get(`${page}?labels=a+b`);
    expect(wrong.status).toBe(200);
    expect(await wrong.text()).toContain('id="labels-problem"');
  });

  test("says that nothing matches, and links to the unfiltered list, where the filters leave nothing", async () => {
    const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
    const html = await turkish.page(`${page}?labels=role%3Dnobody`);
    expect(html).toContain("Eşleşen bir şey yok");
    expect(html).toMatch(new RegExp(`href="${page}"[^>]*>\\s*Süzgeçleri temizle`));
  });
});

describe.each([
  ["/networks", "name"],
  ["/firewalls", "name"],
  ["/gateways", "name"],
  ["/ssh-keys", "name"],
  ["/public-ips", "address"],
])("%s", (page, key) => {
  test(`is sorted by ${key}, either way, and says so`, async () => {
    for (const [sort, sign] of [
      [key, 1],
      [`-${key}`, -1],
    ] as const) {
      const html = await ada.page(`${page}?sort=${sort}`);
      expect(Math.sign(html.indexOf(otherOf(page)) - html.indexOf(firstOf(page)))).toBe(sign);
      expect(html).toMatch(new RegExp(`value="${sort}" selected`));
    }
    expect(await ada.page(`${page}?sort=shoe-size`)).toMatch(/value="-created_at" selected/);
  });
});

test("a name typed with capitals is found, Turkish ones included; for keys capitals are significant", async () => {
  const { networks, sshKeys } = world.api.state;
  Object.assign(networks[0] ?? {}, { name: "iller" });
  for (const typed of ["Iller", "%C4%B0ller"])
    expect(await ada.page(`/networks?q=${typed}`)).toContain(`id="${networks[0]?.id}"`);
  Object.assign(sshKeys[0] ?? {}, { name: "Laptop" });
  expect(await ada.page("/ssh-keys?q=Lap")).toContain(`id="${sshKeys[0]?.id}"`);
});

test("the next page of a filtered list is filtered, too", async () => {
  const [network] = world.api.state.networks;
  if (network === undefined) throw new Error("no network");
  for (let index = 0; index < 25; index++)
    world.api.state.networks.push({
      ...network,
      id: `${network.id.slice(0, -4)}${1000 + index}`,
      name: `many-${index}`,
    });
  const html = await ada.page("/networks?q=many&region=ist1&sort=name");
  expect(html).toMatch(/href="\/networks\?q=many&amp;region=ist1&amp;sort=name&amp;cursor=20"/);
});
