import { visitorOf } from "@kule/contract/visitor";
import { afterEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { testSecret } from "./testing/test-panel.ts";
import { Visitor } from "./testing/visitor.ts";

let world: ConsoleWorld;
afterEach(() => world.stop());

const visitorsOf = ({ api }: ConsoleWorld) =>
  new Set(api.visitors.map((header) => (header === null ? null : visitorOf([testSecret], header))));

test("every call names its visitor, before and after signing in", async () => {
  world = await startConsoleWorld({ trustedProxies: 1 });
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
});

test("X-Forwarded-For counts only from a trusted proxy", async () => {
  world = await startConsoleWorld();
  const eve = new Visitor(world, { "x-forwarded-for": "203.0.113.7", "kule-visitor": "203.0.113.7 forged" });
  await eve.signIn();
  expect(visitorsOf(world)).toEqual(new Set([null]));
});
