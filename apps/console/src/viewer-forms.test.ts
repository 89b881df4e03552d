import { afterEach, beforeEach, expect, test } from "vitest";
import { type CompleteWorld, explorer } from "./testing/every-page.ts";
import { startPanelWorld } from "./testing/panel-world.ts";
import { complete } from "./testing/scenes/complete.ts";

let world: CompleteWorld;
beforeEach(async () => {
  world = await startPanelWorld(complete);
});
afterEach(() => world.stop());

/** Forms that every role may send: those about this browser, the session and the own account. */
const ofAnybody = /^\/(preferences|sign-out|switch-organisation|leave-organisation|account)(\/|$)/;

test("a viewer is offered no form that changes something, disabled or not", async () => {
  const viewer = await world.signedIn("vera");
  const offered = new Set<string>();
  let pages = 0;
  await explorer(viewer, (_visitor, path, page) => {
    pages += 1;
    const [kind = ""] = path.slice(1).split(/[/?]/);
    for (const [tag] of page.matchAll(/<form\s[^>]*>/g)) {
      const action = /action="([^"]*)"/.exec(tag)?.[1] ?? "";
      if (/method="post"/.test(tag) && !ofAnybody.test(action))
        offered.add(`${kind}: ${action.split("/").at(-1)}`);
    }
    if (page.includes("Your role does not allow this.")) offered.add(`${kind}: something greyed out`);
  }).followLinks("/servers");
  expect([...offered].sort()).toEqual([]);
  expect(pages).toBeGreaterThan(20);
}, 120_000);
