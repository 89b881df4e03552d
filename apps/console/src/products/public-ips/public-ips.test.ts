import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { acmesAddresses } from "../../testing/scenes/people.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(servers);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

test("public addresses are reserved, attached to a server of the region and released, and a refusal names the contact", async () => {
  const id = world.facts.servers["web-1"];
  const reserve = () => ada.submit("/public-ips/new", "/public-ips/new", { region: "ist1", version: "4" });
  for (const _ of acmesAddresses) expect((await reserve()).status).toBe(303);
  const refused = await reserve();
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain("ask the operator");

  const [ip, other] = await world.real.list("/public-ips");
  expect(await ada.page("/public-ips")).toContain(ip.address);
  const own = `/public-ips/${ip.id}`;
  expect(await ada.page(own)).toContain(`<option value="${id}">web-1</option>`);
  const attached = await ada.submit(own, `${own}/attach`, { server_id: id });
  expect(attached.headers.get("location")).toBe(`${own}?notice=attaching`);
  expect(await ada.page("/public-ips")).toContain(`href="/servers/${id}"`);
  await world.real.agent.work();
  const after = await ada.page(own);
  expect(after).toContain(`href="/servers/${id}"`);
  // An unavailable action shows its reason.
  expect(await ada.page(`${own}/settings`)).toContain("The address is attached to a server");
  await ada.submit(`/public-ips/${other.id}/settings`, `/public-ips/${other.id}/delete`, {});
  expect(await world.real.list("/public-ips")).toHaveLength(acmesAddresses.length - 1);
});

test("the pools of a region are managed by operators: others do not see the page", async () => {
  expect(await ada.page("/servers")).not.toContain('href="/ip-pools"');
  expect((await ada.get("/ip-pools")).status).not.toBe(200);
});
