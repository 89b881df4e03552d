import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { resetSecret } from "../../testing/fake-password-resets.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test("an operator makes a link, and whoever opens it sets a new password once", async () => {
  const grace = await new Visitor(world).signIn("grace@example.org", "keeps it running");
  const [organisation] = world.api.state.organisations;
  await grace.submit("/organisations", "/organisations", { organisation_id: organisation?.id ?? "" });
  const members = await grace.page("/members");
  const action = /action="(\/members\/[^"]+\/password-reset)"/.exec(members)?.[1] ?? "";
  const made = await grace.submit("/members", action, {});
  expect(made.headers.get("location")).toBe("/members?notice=password-link");
  const shown = await grace.page("/members?notice=password-link");
  expect(shown).toContain(`/reset-password?secret=${resetSecret}`);
  expect(await grace.page("/members")).not.toContain(resetSecret);

  const person = new Visitor(world);
  const link = `/reset-password?secret=${resetSecret}`;
  const set = (fields: Record<string, string>) =>
    person.submit(link, "/reset-password", { secret: resetSecret, ...fields });
  const typo = await set({ new_password: "seven brave otters", repeat_password: "seven brave" });
  expect([typo.status, await typo.text()]).toEqual([422, expect.stringContaining("is not the same")]);
  const wanted = { new_password: "seven brave otters", repeat_password: "seven brave otters" };
  const done = await set(wanted);
  expect(done.headers.get("location")).toBe("/sign-in?why=password-set");
  expect(await person.page("/sign-in?why=password-set")).toContain("The new password is set.");
  const again = await set(wanted);
  expect([again.status, await again.text()]).toEqual([
    422,
    expect.stringContaining("used before or is over"),
  ]);
});

test("who has lost the password learns at the sign-in whom to ask", async () => {
  const person = new Visitor(world);
  expect(await person.page("/sign-in")).toContain('href="/forgot-password"');
  expect(await person.page("/forgot-password")).toContain("Ask whoever runs this installation for a link");
});

test("who is no operator is not offered to make a link", async () => {
  const ada = await new Visitor(world).signIn();
  expect(await ada.page("/members")).not.toContain("/password-reset");
});
