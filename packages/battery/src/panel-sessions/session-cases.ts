import { setTimeout as delay } from "node:timers/promises";
import { addMember } from "@kule/api/testing/add-member";
import type { RegionScene } from "../job-kinds/region-scene.ts";
import { PanelBrowser } from "./panel-browser.ts";

export type Person = { readonly email: string; readonly password: string };
export type PanelStage = {
  readonly scene: RegionScene;
  readonly url: string;
  addPerson(): Promise<Person>;
};
export type SessionCase = (stage: PanelStage) => Promise<readonly string[]>;

export const sessionCookie = "__Host-kule_session";
/** A token that was revoked is refused everywhere within a second; a busy machine is late. */
const endMilliseconds = 3_000;
const longestSessionSeconds = 12 * 3600;

async function signedIn({ url }: PanelStage, person: Person): Promise<PanelBrowser> {
  const browser = new PanelBrowser(url);
  const { status } = await browser.signIn(person);
  if (status !== 303 || !(await browser.isSignedIn())) throw new Error(`a sign-in is answered ${status}`);
  return browser;
}

/** Whether it fails in time. */
async function ends(browser: PanelBrowser): Promise<boolean> {
  const deadline = performance.now() + endMilliseconds;
  while (await browser.isSignedIn()) {
    if (performance.now() > deadline) return false;
    await delay(100);
  }
  return true;
}

const stays = (what: string) => `${what} still opens the panel`;

export const sessionCases: readonly SessionCase[] = [
  async function isKept(stage) {
    const browser = await signedIn(stage, await stage.addPerson());
    const broken: string[] = [];
    for (const [name, attributes] of browser.attributes) {
      const has = (pattern: RegExp) => attributes.some((each) => pattern.test(each));
      if (!name.startsWith("__Host-")) broken.push(`the cookie ${name} is not bound to its host`);
      for (const [what, pattern] of Object.entries({
        Secure: /^Secure$/,
        HttpOnly: /^HttpOnly$/,
        "SameSite=Lax or Strict": /^SameSite=(Lax|Strict)$/,
        "Path=/": /^Path=\/$/,
      }))
        if (!has(pattern)) broken.push(`the cookie ${name} is not ${what}`);
      if (has(/^Domain=/)) broken.push(`the cookie ${name} names a domain`);
    }
    const until = browser.attributes.get(sessionCookie)?.find((each) => each.startsWith("Expires="));
    const leftSeconds = (Date.parse(until?.slice("Expires=".length) ?? "") - Date.now()) / 1000;
    if (!(leftSeconds > 0 && leftSeconds <= longestSessionSeconds + 60))
      broken.push(`the session's cookie says that it lasts for ${leftSeconds} seconds`);
    const sealed = browser.cookies.get(sessionCookie) ?? "";
    const opened = sealed.split(".").map((part) => Buffer.from(part, "base64url").toString("latin1"));
    if (/kule_ses_/.test(sealed + opened.join(""))) broken.push("the cookie shows the session's token");
    return broken;
  },
  async function isNobodyElses(stage) {
    const browser = await signedIn(stage, await stage.addPerson());
    const sealed = browser.cookies.get(sessionCookie) ?? "";
    const broken: string[] = [];
    const middle = Math.floor(sealed.length * 0.7);
    const turned = sealed[middle] === "A" ? "B" : "A";
    const tampered = sealed.slice(0, middle) + turned + sealed.slice(middle + 1);
    // A preference's cookie and a visitor's are text that any client may choose.
    for (const [what, value] of Object.entries({
      "a session's cookie with one character changed": tampered,
      "a session's cookie without its end": sealed.slice(0, -8),
      "a cookie that is no session": Buffer.from('{"token":"t"}').toString("base64url"),
    })) {
      const forged = new PanelBrowser(stage.url);
      forged.cookies.set(sessionCookie, value);
      if (await forged.isSignedIn()) broken.push(stays(what));
    }
    // As it would be before the first page: without its prefix the name can be set by another site.
    const renamed = new PanelBrowser(stage.url);
    renamed.cookies.set("kule_session", sealed);
    if (await renamed.isSignedIn()) broken.push(stays("a session under a name that another host may set"));
    return broken;
  },
  async function isNotFixed(stage) {
    const [victim, attacker] = [await stage.addPerson(), await stage.addPerson()];
    const planted = await signedIn(stage, attacker);
    const plantedSession = planted.cookies.get(sessionCookie) ?? "";
    const visitor = new PanelBrowser(stage.url);
    const known = await visitor.hiddenFields("/sign-in", "/sign-in");
    const beforehand = visitor.copy();
    await visitor.signIn(victim);
    const broken: string[] = [];
    if (await beforehand.isSignedIn())
      broken.push(stays("what was there before a sign-in, planted by somebody,"));
    // A form's token of before is worth nothing behind the sign-in.
    const { status } = await visitor.post("/preferences", { ...known, theme: "dark" });
    if (status < 400) broken.push(`a form's token of before a sign-in is taken behind it (${status})`);
    // A person who notices that a session is not theirs signs out, and gets a new one that is not known to
    // the attacker.
    const led = planted.copy();
    await led.submit("/account/security", "/sign-out", {});
    await led.signIn(victim);
    if (led.cookies.get(sessionCookie) === plantedSession)
      broken.push("a sign-in has kept the session that was there");
    const copy = new PanelBrowser(stage.url);
    copy.cookies.set(sessionCookie, plantedSession);
    if ((await (await copy.get("/account/security")).text()).includes(victim.email))
      broken.push("a planted session has become its victim's");
    return broken;
  },
  async function endsWithTheSignOut(stage) {
    const browser = await signedIn(stage, await stage.addPerson());
    const copy = browser.copy();
    await browser.submit("/account/security", "/sign-out", {});
    const broken = [];
    if (browser.cookies.has(sessionCookie)) broken.push("a browser that has signed out keeps its cookie");
    if (!(await ends(copy))) broken.push(stays("a copy of a cookie whose owner has signed out"));
    return broken;
  },
  async function endsWithThePassword(stage) {
    const person = await stage.addPerson();
    const [here, elsewhere] = [await signedIn(stage, person), await signedIn(stage, person)];
    const password = "quite another, longer one";
    const { status } = await here.submit("/account/security", "/account/password", {
      current_password: person.password,
      new_password: password,
      repeat_password: password,
    });
    if (status !== 303) return [`a new password is answered ${status}`];
    const broken = [];
    if (!(await ends(elsewhere)))
      broken.push(stays("a second browser's session, after the password was changed,"));
    if (!(await here.isSignedIn())) broken.push("who has changed the password is signed out as well");
    if ((await new PanelBrowser(stage.url).signIn(person)).status === 303)
      broken.push(stays("the old password"));
    return broken;
  },
  async function endsWithTheSwitch(stage) {
    const person = await stage.addPerson();
    const { operator } = stage.scene;
    const other = await operator.post("/organisations", { slug: `o-${Date.now()}`, name: "Other" });
    await addMember(operator.with({ "Kule-Organisation": other.body.id }), { ...person, role: "owner" });
    const browser = await signedIn(stage, person);
    const copy = browser.copy();
    const { status } = await browser.submit("/switch-organisation", "/switch-organisation", {});
    if (status !== 303) return [`a switch is answered ${status}`];
    if (browser.cookies.get(sessionCookie) === copy.cookies.get(sessionCookie))
      return ["a switch to another organisation has kept the cookie"];
    return (await ends(copy)) ? [] : [stays("a copy of a cookie from before a switch of organisations")];
  },
  async function endsByItself(stage) {
    const broken: string[] = [];
    for (const [what, change] of Object.entries({
      "a session that nobody has used for two hours": `set last_used_at = clock_timestamp() - interval '121 minutes',
         created_at = clock_timestamp() - interval '3 hours'`,
      "a session that is over": "set expires_at = clock_timestamp() - interval '1 second'",
    })) {
      const person = await stage.addPerson();
      const browser = await signedIn(stage, person);
      await stage.scene.owner.query(
        `update token ${change} where kind = 'session' and user_id = (select id from app_user where email = $1)`,
        [person.email],
      );
      // Within a second a process queries again; until then the session must not be used, or it would have
      // been renewed.
      await delay(1_500);
      if (await browser.isSignedIn()) broken.push(stays(what));
    }
    return broken;
  },
];
