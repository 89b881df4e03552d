import { visitorOf } from "@kule/contract/visitor";
import { afterEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { type People, people } from "./testing/scenes/people.ts";
import { testSecret } from "./testing/test-panel.ts";
import { Visitor } from "./testing/visitor.ts";

let world: PanelWorld<People>;
afterEach(() => world.stop());

const visitorsOf = ({ api }: PanelWorld<People>) =>
  new Set(api.visitors.map((header) => (header === null ? null : visitorOf([testSecret], header))));

test("every call names its visitor, before and after signing in", async () => {
  world = await startPanelWorld(people, { trustedProxies: 1 });
  // The nearest proxy added the last address; the visitor may have written those before it.
  const ada = new Visitor(world, { "x-forwarded-for": "198.51.100.1, 203.0.113.7" });
  await ada.page("/sign-in/passkey");
  await ada.page("/join?invitation=kule_inv_x");
  await ada.signIn();
  const open = world.api.visitors.length;
  for (const page of ["/servers", "/account/security", "/members", "/audit"]) await ada.page(page);
  await ada.submit("/account/security", "/account/password", {
    current_password: "wrong",
    new_password: "seven brave otters swim",
    repeat_password: "seven brave otters swim",
  });
  await ada.submit("/account/security", "/sign-out", {});
  expect(open).toBeGreaterThan(2);
  expect(world.api.visitors.length).toBeGreaterThan(open + 5);
  expect(visitorsOf(world)).toEqual(new Set(["203.0.113.7"]));
  // The API believes what the panel has signed: it counts the wrong password for this address.
  const counted = await world.real.sql("select subject from login_failure where subject ~ '^address'");
  expect(counted).toEqual([{ subject: "address 203.0.113.7" }]);
});

test("X-Forwarded-For counts only from a trusted proxy", async () => {
  world = await startPanelWorld(people);
  const eve = new Visitor(world, { "x-forwarded-for": "203.0.113.7", "kule-visitor": "203.0.113.7 forged" });
  await eve.signIn();
  expect(visitorsOf(world)).toEqual(new Set([null]));
});
