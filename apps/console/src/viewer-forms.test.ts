import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { Visitor } from "./testing/visitor.ts";
import { visitAs } from "./testing/whole-panel.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

/** Forms that every role may send: those about this browser, the session and the own account. */
const ofAnybody = /^\/(preferences|sign-out|switch-organisation|leave-organisation|account)(\/|$)/;

test("a viewer is offered no form that changes something, disabled or not", async () => {
  const viewer = await new Visitor(world).signIn("vera@example.org", "only looking");
  const offered = new Set<string>();
  let pages = 0;
  await visitAs(world, viewer, (_visitor, path, page) => {
    pages += 1;
    const [kind = ""] = path.slice(1).split(/[/?]/);
    for (const [tag] of page.matchAll(/<form\s[^>]*>/g)) {
      const action = /action="([^"]*)"/.exec(tag)?.[1] ?? "";
      if (/method="post"/.test(tag) && !ofAnybody.test(action))
        offered.add(`${kind}: ${action.split("/").at(-1)}`);
    }
    if (page.includes("Your role does not allow this.")) offered.add(`${kind}: something greyed out`);
  });
  expect([...offered].sort()).toEqual([]);
  expect(pages).toBeGreaterThan(20);
}, 120_000);
