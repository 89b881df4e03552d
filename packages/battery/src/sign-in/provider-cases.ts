import { made } from "@kule/api/testing/proofs/tenant";
import { newSoftPerson } from "@kule/api/testing/soft-sign-ins";
import type { OidcTwist } from "@kule/testing/oidc/soft-provider";
import type { ProviderAnswer, ProviderWorld } from "./provider-world.ts";

type ProviderCase = (world: ProviderWorld) => Promise<readonly string[]>;

/** The returned query, with some of its parameters changed. */
function bent({ flow, response }: ProviderAnswer, changes: Readonly<Record<string, string>>): ProviderAnswer {
  const query = new URLSearchParams(response);
  for (const [name, value] of Object.entries(changes)) query.set(name, value);
  return { flow, response: query.toString() };
}

const now = () => Math.floor(Date.now() / 1000);

/** ID tokens that a provider did not issue, or not for us. */
const lies: Readonly<Record<string, (world: ProviderWorld) => OidcTwist>> = {
  "of another sign-in (nonce)": () => ({ claims: { nonce: "of-another-sign-in" } }),
  "for another client (audience)": () => ({ claims: { aud: "another-client" } }),
  "for another of several clients (azp)": () => ({ claims: { aud: ["kule-tests", "x"], azp: "x" } }),
  "of another issuer": ({ other }) => ({ claims: { iss: other.issuer } }),
  "that has expired": () => ({ claims: { iat: now() - 900, exp: now() - 300 } }),
  "without a signature": () => ({ unsigned: true }),
  "signed by somebody else": () => ({ foreignKey: true }),
  "signed with the client's secret": () => ({ symmetric: true }),
};

export const providerCases: readonly ProviderCase[] = [
  async function rightSignIn(world) {
    const session = await world.people.signIn(await world.people.addPerson());
    const account = world.addAccount();
    const begun = await world.wayThere(account, () => world.beginOwn(session, "link"));
    const { status } = await session.post("/me/identities", begun);
    if (status !== 201) return [`a right link to the real provider is answered ${status}`];
    const entered = await world.enter(await world.wayThere(account));
    return entered === 200 ? [] : [`a right sign-in by the real provider is answered ${entered}`];
  },
  async function ownSecrets(world) {
    const asked = [await world.beginLogin(), await world.beginLogin()].map(
      ({ authorization_url: url }) => new URL(url).searchParams,
    );
    const broken = ["state", "nonce", "code_challenge"].flatMap((name) => {
      const [one, other] = asked.map((query) => query.get(name) ?? "");
      if (one === undefined || one.length < 40)
        return [`a provider is sent no ${name} that could not be guessed`];
      return one === other ? [`two sign-ins have the same ${name}`] : [];
    });
    if (asked.some((query) => query.get("code_challenge_method") !== "S256"))
      broken.push("a provider is shown the PKCE verifier itself");
    return broken;
  },
  async function bentOnTheWay(world) {
    const { account } = await world.addLinked();
    const came = await world.wayThere(account);
    const elsewhere = new URL((await world.beginLogin()).authorization_url).searchParams.get("state") ?? "";
    const bends: Readonly<Record<string, ProviderAnswer>> = {
      "an answer with the state of another sign-in": bent(came, { state: elsewhere }),
      "an answer with a made-up state": bent(came, { state: "made-up" }),
      "an answer in the name of another issuer": bent(came, { iss: world.other.issuer }),
    };
    const broken: string[] = [];
    for (const [what, answer] of Object.entries(bends)) {
      // Each on a way of its own: what fails may have used the code up.
      const fresh = await world.wayThere(account);
      const changes = Object.fromEntries(
        [...new URLSearchParams(answer.response)].filter(
          ([name, value]) => new URLSearchParams(came.response).get(name) !== value,
        ),
      );
      if ((await world.enter(bent(fresh, changes))) === 200) broken.push(`${what} has opened a session`);
    }
    const otherNonce = await world.wayThere(account, undefined, (url) =>
      url.searchParams.set("nonce", "x".repeat(43)),
    );
    if ((await world.enter(otherNonce)) === 200)
      broken.push("an ID token of the real provider with another nonce has opened a session");
    await world.deleteFailures();
    return broken;
  },
  async function stolenCode(world) {
    const { account } = await world.addLinked();
    const stolen = await world.wayThere(account);
    const thief = await world.beginLogin();
    const state = new URL(thief.authorization_url).searchParams.get("state") ?? "";
    const status = await world.enter(bent({ flow: thief.flow, response: stolen.response }, { state }));
    await world.deleteFailures();
    return status === 200 ? ["a stolen code has opened a session for who has not begun its sign-in"] : [];
  },
  async function liesOfAProvider(world) {
    const { account } = await world.addSoftLinked();
    const broken: string[] = [];
    for (const [what, twist] of Object.entries(lies))
      if ((await world.enter(await world.softAnswer(account, twist(world)))) === 200)
        broken.push(`an ID token ${what} has opened a session`);
    await world.deleteFailures();
    const right = await world.enter(await world.softAnswer(account));
    if (right !== 200) broken.push(`a right sign-in by the soft provider is answered ${right}`);
    return broken;
  },
  async function onceEach(world) {
    const { account } = await world.addSoftLinked();
    const answer = await world.softAnswer(account);
    const before = world.soft.codesTaken;
    const statuses = await Promise.all([0, 1, 0, 1].map((replica) => world.enter(answer, replica)));
    statuses.push(await world.enter(answer));
    const [opened, asked] = [
      statuses.filter((status) => status === 200).length,
      world.soft.codesTaken - before,
    ];
    await world.deleteFailures();
    return [
      ...(opened === 1 ? [] : [`one answer of a provider opened ${opened} sessions`]),
      ...(asked === 1 ? [] : [`one answer of a provider was brought to it ${asked} times`]),
    ];
  },
  async function oneFlowOnePurpose(world) {
    const [ada, eve] = [await world.addLinked(), await world.people.addPerson()];
    const eves = await world.people.signIn(eve);
    const account = world.addAccount();
    const hers = await world.wayThere(account, () => world.beginOwn(ada.session, "link"));
    const broken: string[] = [];
    if ((await eves.post("/me/identities", hers)).status === 201)
      broken.push("a way that one person began has linked an account to another");
    const linked = await world.wayThere(ada.account, () => world.beginOwn(ada.session, "prove"));
    if ((await world.enter(linked)) === 200) broken.push("a way to prove something has opened a session");
    const login = await world.wayThere(world.addAccount());
    if ((await eves.post("/me/identities", login)).status === 201)
      broken.push("a way to sign in has linked an account");
    await world.deleteFailures();
    return broken;
  },
  async function linksWithProof(world) {
    const session = await world.people.signIn(await world.people.addPerson());
    const begun = await world.wayThere(world.addAccount(), () => world.beginOwn(session, "link"));
    await world.outdateProofs();
    const broken: string[] = [];
    if ((await session.post("/me/identities", begun)).status === 201)
      broken.push("an account was linked by a session that has not proven itself");
    const asked = await session.post("/me/identities/authorization", { provider: "real", purpose: "link" });
    if (asked.status === 200) broken.push("a way to link was begun by a session that has not proven itself");
    return broken;
  },
  async function proofs(world) {
    const [ada, eve] = [await world.addLinked(), await world.addLinked()];
    const soft = await world.addSoftLinked();
    await world.outdateProofs();
    const broken: string[] = [];
    const byAnother = await world.wayThere(eve.account, () => world.beginOwn(ada.session, "prove"));
    if ((await ada.session.post("/me/proof", { oidc: byAnother })).status === 204)
      broken.push("somebody else's account has proven who a person is");
    const { flow, authorization_url: url } = await world.beginOwn(soft.session, "prove", "soft");
    const remembered = { claims: { auth_time: now() - 3_600 } };
    const oidc = { flow, response: world.soft.answer(url, soft.account, remembered) };
    if ((await soft.session.post("/me/proof", { oidc })).status === 204)
      broken.push("a provider that only remembers a person has proven who they are");
    const own = await world.wayThere(ada.account, () => world.beginOwn(ada.session, "prove"));
    const proven = await ada.session.post("/me/proof", { oidc: own });
    if (proven.status !== 204) broken.push(`a right proof by the real provider is answered ${proven.status}`);
    return broken;
  },
  async function whoIsWho(world) {
    const { account, person } = await world.addSoftLinked();
    const broken: string[] = [];
    if ((await world.enter(await world.softAnswer(account, {}, "other"))) === 200)
      broken.push("the same name at another house has opened a session");
    const sameEmail = { ...newSoftPerson(), email: person.email };
    if ((await world.enter(await world.softAnswer(sameEmail))) === 200)
      broken.push("somebody with the same e-mail at a provider has opened a session");
    const moved = { ...account, email: "moved@elsewhere.example" };
    if ((await world.enter(await world.softAnswer(moved, {}, "staff"))) === 200)
      broken.push("somebody whose e-mail is of another domain has signed in where domains are limited");
    const guest = newSoftPerson();
    const { secret } = made(
      await world.people.acme.owner.post("/invitations", { email: guest.email, role: "viewer" }),
    );
    const begun = made(
      await world.nobody().post("/auth/oidc/authorization", { provider: "soft", invitation: secret }),
    );
    const unverified = world.soft.answer(begun.authorization_url, { ...guest, email_verified: false });
    if ((await world.enter({ flow: begun.flow, response: unverified })) === 200)
      broken.push("an e-mail that nobody has verified has taken an invitation");
    return broken;
  },
  async function secondFactors(world) {
    const [real, soft] = [await world.addLinked(), await world.addSoftLinked()];
    for (const { session } of [real, soft]) await world.people.enrol(session);
    const broken: string[] = [];
    if ((await world.enter(await world.wayThere(real.account))) === 200)
      broken.push("a provider's word was enough for somebody with a second factor");
    const boast = { claims: { amr: ["mfa"], acr: "mfa" } };
    if ((await world.enter(await world.softAnswer(soft.account, boast))) === 200)
      broken.push("a provider that is not trusted with second factors was believed to have asked for one");
    return broken;
  },
];
