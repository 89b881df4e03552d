import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { type People, people } from "../../testing/scenes/people.ts";
import { fieldIn, tokenIn, Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<People>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(people);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const members = () => world.real.list("/members");

const invite = (fields: Record<string, string> = {}, visitor = ada) =>
  visitor.submit("/members/invite", "/members/invite", {
    email: "grete@example.org",
    role: "member",
    expires_in_days: "7",
    ...fields,
  });

/** The link of a new invitation, as the page after it shows it. */
async function newLink(fields: Record<string, string> = {}): Promise<string> {
  const made = await invite(fields);
  expect(made.headers.get("location")).toBe("/members?notice=invited");
  const page = await ada.page("/members?notice=invited");
  const link = /id="shown-once"[^>]*>\s*([^\s<]+)/.exec(page)?.[1] ?? "";
  expect(link).toMatch(/^https:\/\/panel\.test\/join\?invitation=kule_inv_/);
  return link.replace("https://panel.test", "");
}

test("members are listed with the permissions of their roles, by the API's own rule", async () => {
  const page = await ada.page("/members");
  for (const { user } of await members()) expect(page).toContain(user.email);
  expect(page).toMatch(/Open consoles and set passwords<\/th>\s*<td data-may=""[\s\S]*?<td data-may=""/);
  const row = /Manage members and API tokens<\/th>([\s\S]*?)<\/tr>/.exec(page)?.[1] ?? "";
  expect(row.match(/<td data-may=""/g)).toHaveLength(2);
  expect(page).toContain("curl -s");
});

test("a role is changed and a member removed; the last owner cannot be, and the reason is shown", async () => {
  const mia = world.facts.people.mia.memberId;
  const changed = await ada.submit("/members", `/members/${mia}/role`, { role: "viewer" });
  expect(changed.headers.get("location")).toBe("/members?notice=changed");
  expect((await members()).find(({ id }) => id === mia)?.role).toBe("viewer");
  const removed = await ada.submit("/members", `/members/${mia}/remove`, {});
  expect(removed.headers.get("location")).toBe("/members?notice=removed");
  expect((await members()).map(({ id }) => id)).not.toContain(mia);
  const email = "olga@example.org";
  const { member, password } = await addMember(world.real.acme, { email, role: "owner" });
  const olga = await new Visitor(world).signIn(email, password);
  for (const [act, fields] of [
    ["role", { role: "viewer" }],
    ["remove", {}],
  ] as const) {
    const kept = await olga.submit("/members", `/members/${member.id}/${act}`, fields);
    expect(kept.status).toBe(409);
    expect(await kept.text()).toContain("no owner left");
  }
  // An admin cannot change owners.
  expect(await ada.page("/members")).toContain("Only an owner can change an owner.");
});

test("an invitation's link is shown once, and a repeat of the form does not show it again", async () => {
  const page = await ada.page("/members");
  const key = fieldIn(await ada.page("/members/invite"), "idempotency_key") ?? "";
  const fields = { email: "grete@example.org", role: "viewer", expires_in_days: "3", idempotency_key: key };
  const first = await ada.submit("/members/invite", "/members/invite", fields);
  expect(first.headers.get("location")).toBe("/members?notice=invited");
  const shown = await ada.page("/members");
  expect(shown).toContain("kule_inv_");
  // The page has no other link that leaves it, since the link cannot be shown again.
  for (const link of ["view-members", 'href="/members/invite"']) {
    expect(shown).not.toContain(link);
    expect(page).toContain(link);
  }
  expect(await ada.page("/members")).not.toContain("kule_inv_");
  const again = await ada.submit("/members/invite", "/members/invite", fields);
  expect(again.headers.get("location")).toBe("/members?notice=withheld");
  expect(await ada.page("/members?notice=withheld")).toContain("Withdraw it and invite again");
  expect(world.logged()).not.toContain("kule_inv_");
});

test("an invitation's link has the configured panel's address, whatever host the request names", async () => {
  const answer = await ada.submit(
    "/members/invite",
    "/members/invite",
    { email: "new@example.org", role: "viewer", expires_in_days: "7" },
    { host: "evil.example", origin: "http://evil.example", "x-forwarded-host": "evil.example" },
  );
  expect(answer.headers.get("location")).toBe("/members?notice=invited");
  const page = await ada.page("/members?notice=invited");
  expect(page).toContain("https://panel.test/join?invitation=kule_inv_");
  expect(page).not.toContain("evil.example");
});

test("a refused invitation keeps the input, with the reason beside the e-mail", async () => {
  for (const email of ["mia@example.org", "not an address"]) {
    const refused = await invite({ email, role: "viewer", expires_in_days: "30" });
    expect([409, 422]).toContain(refused.status);
    const page = await refused.text();
    expect(page).toContain('id="email-problem"');
    expect(page).toContain(`value="${email}"`);
    expect(page).toMatch(/value="30" selected/);
  }
  await invite();
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const twice = await (await invite({}, turkish)).text();
  expect(twice).toMatch(/id="email-problem">\s*Bu kişinin açık bir daveti var/);
});

test("an invitation is withdrawn, and is listed among the closed ones", async () => {
  const link = await newLink();
  const made = (await world.real.list("/invitations")).find(({ email }) => email === "grete@example.org");
  await ada.submit("/members", `/members/invitations/${made.id}/revoke`, {});
  expect(await ada.page("/members")).not.toContain("grete@example.org");
  expect(await ada.page("/members?invitations=all")).toContain("withdrawn");
  const gone = await new Visitor(world).get(link);
  expect(gone.status).toBe(404);
  expect(await gone.text()).toContain("This invitation is not valid");
});

test("a new person joins with a name and a password, and signs in with them", async () => {
  const link = await newLink({ role: "viewer" });
  const grete = new Visitor(world);
  const page = await grete.page(link);
  for (const words of ["Join Acme Hosting", "Ada Lovelace invites you", "grete@example.org"])
    expect(page).toContain(words);
  const secret = link.split("=")[1] ?? "";
  const form = { secret, name: "Grete Hermann", password: "short" };
  const short = await grete.submit(link, "/join", form);
  expect(short.status).toBe(422);
  expect(await short.text()).toMatch(/value="Grete Hermann"[\s\S]*id="password-problem"/);
  const done = await grete.submit(link, "/join", { ...form, password: "long enough to be one" });
  expect(done.headers.get("location")).toBe("/join?done");
  expect(await grete.page("/join?done")).toContain('href="/sign-in"');
  await grete.signIn("grete@example.org", "long enough to be one");
  expect(await grete.page("/servers")).toContain("Acme Hosting");
  expect((await new Visitor(world).get(link)).status).toBe(404);
});

test("the page is the same for an e-mail with an account, and accepts only the account's password", async () => {
  await done(world.real.acme.delete(`/members/${world.facts.people.mia.memberId}`));
  const known = await newLink({ email: "mia@example.org" });
  const unknown = await newLink({ email: "new@example.org" });
  const seen = async (link: string, email: string) =>
    (await new Visitor(world).page(link))
      .replaceAll(email, "")
      // A second after the invitation its seven days are six and some hours.
      .replaceAll(/<time[^>]*>[^<]*|value="[^"]*"|title="[^"]*"/g, "")
      .replaceAll(/invitation=[^"&]*| nonce="[^"]*"/g, "")
      .split("<");
  expect(await seen(known, "mia@example.org")).toEqual(await seen(unknown, "new@example.org"));
  const guest = new Visitor(world);
  const form = { secret: known.split("=")[1] ?? "", name: "Mia", password: "not her password" };
  const wrong = await guest.submit(known, "/join", form);
  expect(wrong.status).toBe(401);
  expect(await wrong.text()).toContain('id="password-problem"');
  const right = await guest.submit(known, "/join", { ...form, password: "making things" });
  expect(right.headers.get("location")).toBe("/join?done");
});

test("a signed-in person joins by their session, if the invitation is for them", async () => {
  const { operator } = world.real;
  const other = await done(operator.post("/organisations", { slug: "beta", name: "Beta Works" }));
  const betas = new ApiCaller(world.real.app, operator.token, { "Kule-Organisation": other.id });
  const { password } = await addMember(betas, { email: "bea@example.org", role: "owner" });
  const bea = await new Visitor(world).signIn("bea@example.org", password);
  const foreign = await newLink();
  expect(await bea.page(foreign)).toContain("The invitation is for another e-mail");
  // A person who signs out returns to the invitation, and to no other page.
  for (const [way, leads] of [
    [foreign, foreign],
    ["/servers", "/sign-in?why=signed-out"],
    ["//evil.example/join?", "/sign-in?why=signed-out"],
  ] as const) {
    const passing = await new Visitor(world).signIn("bea@example.org", password);
    const gone = await passing.submit(foreign, "/sign-out", { return_to: way });
    expect(gone.headers.get("location")).toBe(leads);
    expect(await passing.page(foreign)).toContain("Your name");
  }
  expect(await bea.page(foreign)).toMatch(/name="return_to" value="\/join\?invitation=/);
  const link = await newLink({ email: "bea@example.org", role: "viewer" });
  expect(await bea.page(link)).toContain("Join and go there");
  const staleForm = tokenIn(await bea.page("/switch-organisation"));
  const joined = await bea.submit(link, "/join", { secret: link.split("=")[1] ?? "" });
  expect(joined.headers.get("location")).toBe("/servers");
  expect(await bea.page("/servers")).toContain("Acme Hosting");

  // A form from a page of the other organisation is refused here.
  const stale = await bea.post("/switch-organisation", { form_token: staleForm, organisation_id: other.id });
  expect(stale.status).toBe(403);
  const page = await bea.page("/switch-organisation");
  expect(page).toContain("Go to Beta Works");
  const back = await bea.submit("/switch-organisation", "/switch-organisation", {
    organisation_id: other.id,
  });
  expect(back.headers.get("location")).toBe("/servers");
  expect(await bea.page("/servers")).toContain("Beta Works");

  const leave = (id: string) =>
    bea.submit("/switch-organisation", "/leave-organisation", { organisation_id: id });
  const kept = await leave(other.id);
  expect([kept.status, await kept.text()]).toEqual([409, expect.stringContaining("no owner left")]);
  const left = await leave(world.facts.acme.id);
  expect(left.headers.get("location")).toBe("/switch-organisation?notice=left");
  const after = await bea.page("/switch-organisation?notice=left");
  expect(after).toContain("You have left the organisation.");
  expect(after).not.toContain("Go to Acme Hosting");
});

test("a viewer sees the members and no forms to change them", async () => {
  const vera = await world.signedIn("vera");
  const page = await vera.page("/members");
  expect(page).toContain("mia@example.org");
  for (const words of ["/members/invit", "Change role", "Remove"]) expect(page).not.toContain(words);
  expect((await vera.get("/members/invite")).status).toBe(403);
});
