import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
beforeEach(async () => {
  world = await startPanelWorld(people);
});
afterEach(() => world.stop());

test("an operator creates a link, with which the person sets a new password once", async () => {
  const grace = await world.signedIn("grace");
  await grace.submit("/organisations", "/organisations", { organisation_id: world.facts.acme.id });
  const members = await grace.page("/members");
  const { memberId, email } = world.facts.people.vera;
  const action = `/members/${memberId}/password-reset`;
  expect(members).toContain(`action="${action}"`);
  const made = await grace.submit("/members", action, {});
  expect(made.headers.get("location")).toBe("/members?notice=password-link");
  const shown = await grace.page("/members?notice=password-link");
  const [link = "", secret = ""] = /\/reset-password\?secret=(kule_pwr_\w+)/.exec(shown) ?? [];
  expect(secret).not.toBe("");
  expect(await grace.page("/members")).not.toContain(secret);
  expect(world.logged()).not.toContain(secret);

  const person = new Visitor(world);
  const set = (fields: Record<string, string>) =>
    person.submit(link, "/reset-password", { secret, ...fields });
  const typo = await set({ new_password: "seven brave otters", repeat_password: "seven brave" });
  expect([typo.status, await typo.text()]).toEqual([422, expect.stringContaining("is not the same")]);
  const wanted = { new_password: "seven brave otters", repeat_password: "seven brave otters" };
  const done = await set(wanted);
  expect(done.headers.get("location")).toBe("/sign-in?why=password-set");
  expect(await person.page("/sign-in?why=password-set")).toContain("The new password is set.");
  await person.signIn(email, wanted.new_password);
  const again = await set(wanted);
  expect([again.status, await again.text()]).toEqual([
    422,
    expect.stringContaining("used before or is over"),
  ]);
});

/** What the worker is to mail. */
const waiting = async () =>
  (
    await world.real.sql(
      `select payload from graphile_worker._private_jobs job
         join graphile_worker._private_tasks task on task.id = job.task_id
        where task.identifier = 'mail_password_reset' order by payload ->> 'email'`,
    )
  ).map(({ payload }) => payload);

test("a password reset sends a link by mail, and does not reveal whether an e-mail has an account", async () => {
  const person = new Visitor(world);
  expect(await person.page("/sign-in")).toContain('href="/forgot-password"');
  const ask = (email: string) => person.submit("/forgot-password", "/forgot-password", { email });
  for (const email of ["ada@example.org", "nobody@example.org"]) {
    const sent = await ask(email);
    expect([sent.status, sent.headers.get("location")]).toEqual([303, "/forgot-password?sent"]);
  }
  expect(await person.page("/forgot-password?sent")).toContain("If there is an account with this e-mail");
  await person.submit("/sign-in", "/preferences", { language: "tr" });
  expect(await person.page("/forgot-password")).toContain("Bağlantıyı gönder");
  await ask("ada@example.org");
  const asked = world.api.sent.filter((call) => call.path === "/auth/password-reset");
  expect(asked.map(({ body }) => body)).toEqual([
    { email: "ada@example.org", language: "en" },
    { email: "nobody@example.org", language: "en" },
    { email: "ada@example.org", language: "tr" },
  ]);
  // The worker sends the last mail of each account, and none where there is no account.
  expect(await waiting()).toEqual([
    { email: "ada@example.org", language: "tr" },
    { email: "nobody@example.org", language: "en" },
  ]);
});

test("an invalid e-mail has its error beside it, and the input is kept", async () => {
  const person = new Visitor(world);
  const ask = (email: string) => person.submit("/forgot-password", "/forgot-password", { email });
  const wrong = await ask("ada");
  expect([wrong.status, await wrong.text()]).toEqual([
    422,
    expect.stringMatching(/value="ada"[\s\S]*Enter an e-mail address such as/),
  ]);
  for (let asked = 0; asked < 3; asked += 1) await ask("ada@example.org");
  const tooMany = await ask("ada@example.org");
  expect([tooMany.status, await tooMany.text()]).toEqual([
    429,
    expect.stringContaining("Too many links were asked for."),
  ]);
});

test("an installation without mail names the contact", async () => {
  await world.stop();
  world = await startPanelWorld(people, { settings: { mailFile: null } });
  const person = new Visitor(world);
  const answer = await person.submit("/forgot-password", "/forgot-password", { email: "ada@example.org" });
  expect(await answer.text()).toContain("Ask whoever runs this installation for a link");
});

test("a user who is not an operator is not offered to create a link", async () => {
  const ada = await world.signedIn("ada");
  expect(await ada.page("/members")).not.toContain("/password-reset");
});
