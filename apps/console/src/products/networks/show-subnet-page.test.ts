import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { destroyServers } from "../../testing/server-states.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
/** The pages of network `shop` and of its subnet `app`, and their paths in the API. */
let shop: string;
let path: string;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  shop = `/networks/${world.facts.networks.shop}`;
  path = `${shop}/subnets/${world.facts.subnets.app}`;
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const reserve = (body: object) => done(world.real.acme.post(`${path}/reservations`, body));
const reservations = () => world.real.list(`${path}/reservations`);

/** The address of a server that was deleted a moment ago. */
async function quarantine(address: string): Promise<void> {
  const { acme, agent } = world.real;
  const body = { name: "gone", region: "ist1", image: "debian-13", package: "s" };
  const at = { subnet_id: world.facts.subnets.app, private_ip: address };
  const { server } = await done(acme.post("/servers", { ...body, ...at }));
  await agent.work();
  await done(acme.delete(`/servers/${server.id}?purge=true`));
  await agent.work();
}

test("the network's page links to the subnet's, which shows its use and what uses each address", async () => {
  await reserve({ name: "primary-db", address: "10.20.0.40", description: "the shop's" });
  await quarantine("10.20.0.50");
  expect(await ada.page(shop)).toContain(`href="${path}"`);
  const page = await ada.page(path);
  expect(page).toContain('aria-label="used 3, quarantined 1, reserved 1, free 248"');
  for (const words of ["primary-db", "the shop&#39;s", "10.20.0.255", "the broadcast", "in quarantine"])
    expect(page).toContain(words);
  expect(page).toContain(`href="/servers/${world.facts.servers["app-1"]}"`);
  expect(page.match(/10\.20\.0\.\d+(?=\s*<\/th>)/g)).toEqual([
    "10.20.0.0",
    "10.20.0.1",
    "10.20.0.10",
    "10.20.0.11",
    "10.20.0.12",
    "10.20.0.40",
    "10.20.0.50",
    "10.20.0.255",
  ]);
  const reserved = await ada.page(`${path}?state=reserved`);
  expect(reserved.match(/10\.20\.0\.\d+(?=\s*<\/th>)/g)).toEqual(["10.20.0.40"]);
  expect(reserved).toContain(`hx-get="${path}?state=reserved"`);
  expect(await ada.page(`${path}?state=nonsense`)).toContain("10.20.0.255");
});

test("an address is reserved, by name or the next one, and released", async () => {
  const act = `${path}/reservations`;
  const fields = { name: "db", address: "10.20.0.40", description: "kept" };
  const reserved = await ada.submit(path, act, fields);
  expect(reserved.headers.get("location")).toBe(`${path}?notice=reserved`);
  await ada.submit(path, act, { name: "next", address: "", description: "" });
  const made = await reservations();
  expect(new Set(made.map(({ address }) => address))).toEqual(new Set(["10.20.0.40", "10.20.0.2"]));
  for (const [typed, status, field] of [
    [{ ...fields, address: "10.20.0.41" }, 409, "name"],
    [{ ...fields, name: "other" }, 409, "address"],
    [{ ...fields, name: "other", address: "10.20.0.10" }, 409, "address"],
    [{ ...fields, name: "other", address: "10.20.0.1" }, 422, "address"],
    [{ ...fields, name: "other", address: "192.0.2.1" }, 422, "address"],
    [{ ...fields, name: "Not a name" }, 422, "name"],
  ] as const) {
    const refused = await ada.submit(path, act, typed);
    expect(refused.status).toBe(status);
    const page = await refused.text();
    expect(page).toContain(`id="${field}-problem"`);
    expect(page).toContain(`value="${typed.address}"`);
  }
  await destroyServers(world.real);
  expect(await ada.page(`${path}/settings`)).toContain("2 of its addresses are reserved.");
  const first = made.find(({ name }) => name === "db");
  const given = await ada.submit(path, `${act}/${first.id}/delete`, {});
  expect(given.headers.get("location")).toBe(`${path}?notice=givenUp`);
  expect((await reservations()).map(({ name }) => name)).toEqual(["next"]);
  expect(await ada.page(`${path}?notice=givenUp`)).toContain("The reservation is deleted.");
});

test("a viewer is offered no change, and the whole page is translated to Turkish", async () => {
  await reserve({ name: "kept", address: "10.20.0.40" });
  const vera = await world.signedIn("vera");
  const seen = await vera.page(path);
  expect(seen).toContain("kept");
  expect(seen).not.toContain(`action="${path}/`);
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const page = await turkish.page(path);
  for (const words of ["Rezerve adresler", "Boş olmayan bütün adresler", "yayın adresi", "Vazgeç"])
    expect(page).toContain(words);
});
