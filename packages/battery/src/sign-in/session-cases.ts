import { setTimeout as delay } from "node:timers/promises";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import { made } from "@kule/api/testing/proofs/tenant";
import { SoftPasskey } from "@kule/api/testing/soft-passkey";
import type { SignInWorld } from "./sign-in-world.ts";

/** One promise about sign-ins and sessions put to the test; answers what was broken. */
export type SignInCase = (world: SignInWorld) => Promise<readonly string[]>;

/** How long a replica without a notification may still accept a session. */
const believedMs = 1_000;
const newPassword = "seven brave otters swim";

export const sessionCases: readonly SignInCase[] = [
  async function halfSignIns(world) {
    const ada = await world.addPerson();
    await world.enrol(await world.signIn(ada));
    const half = await world.firstStep(ada);
    const asToken = world.nobody().with({ Authorization: `Bearer ${half}` });
    const calls = [
      asToken.get("/me"),
      asToken.get("/servers"),
      asToken.get("/me/security"),
      asToken.post("/me/totp"),
      asToken.post("/auth/switch-organisation", { organisation_id: world.acme.id }),
    ];
    const answers = await Promise.all(calls);
    return answers
      .filter(({ status }) => status !== 401)
      .map(({ status }) => `half a sign-in was taken: ${status}`);
  },
  async function oneCode(world) {
    const ada = await world.addPerson();
    const { app, codes } = await world.enrol(await world.signIn(ada));
    const used = { code: app.next() };
    const opened = await openedAtOnce(world, ada, used);
    const byRecovery = await openedAtOnce(world, ada, { recovery_code: codes[0] ?? "" });
    return [
      ...(opened === 1 ? [] : [`one code of an app opened ${opened} sessions`]),
      ...(byRecovery === 1 ? [] : [`one recovery code opened ${byRecovery} sessions`]),
    ];
  },
  async function oneSignIn(world) {
    const ada = await world.addPerson();
    const { codes } = await world.enrol(await world.signIn(ada));
    const signIn = await world.firstStep(ada);
    const tries = codes
      .slice(0, 4)
      .map((code, index) =>
        world.nobody(index % 2).post("/auth/second-factor", { sign_in: signIn, recovery_code: code }),
      );
    const opened = (await Promise.all(tries)).filter(({ status }) => status === 200).length;
    return opened === 1 ? [] : [`one sign-in opened ${opened} sessions`];
  },
  async function oneChallenge(world) {
    const session = await world.signIn(await world.addPerson());
    const passkey = new SoftPasskey();
    const begun = made(await session.post("/me/passkey-options", { purpose: "register" }));
    const response = passkey.register(begun.options, { counter: 0 });
    made(await session.post("/me/passkeys", { ceremony: begun.ceremony, name: "phone", response }));
    const asked = made(await world.nobody().post("/auth/passkey-options", {}));
    const answer = {
      ceremony: asked.ceremony as string,
      response: passkey.use(asked.options, { counter: 0 }),
    };
    let opened = 0;
    for (const ceremony of [answer.ceremony, answer.ceremony, `${answer.ceremony}=`, `${answer.ceremony}.x`])
      if ((await world.nobody(opened % 2).post("/auth/passkey", { ...answer, ceremony })).status === 200)
        opened += 1;
    return opened === 1 ? [] : [`one answer of a passkey opened ${opened} sessions`];
  },
  async function changedPassword(world) {
    const ada = await world.addPerson();
    const [here, there] = [await world.signIn(ada), await world.signIn(ada, 1)];
    const { app } = await world.enrol(here);
    const half = await world.firstStep(ada);
    made(await there.get("/me"));
    made(await here.put("/me/password", { current_password: ada.password, new_password: newPassword }));
    await delay(believedMs);
    const finished = await world.nobody().post("/auth/second-factor", { sign_in: half, code: app.next() });
    return [
      ...(await over("a session from before a changed password", there)),
      ...(finished.status === 401 ? [] : ["a sign-in from before a changed password was finished"]),
      ...((await here.get("/me")).status === 200 ? [] : ["who changed the password was signed out"]),
    ];
  },
  async function changedTwice(world) {
    const ada = await world.addPerson();
    const sessions = [await world.signIn(ada), await world.signIn(ada, 1)];
    const answers = await Promise.all(
      sessions.map((session, index) =>
        session.put("/me/password", {
          current_password: ada.password,
          new_password: `${newPassword} ${index}`,
        }),
      ),
    );
    const changed = answers.filter(({ status }) => status === 204).length;
    return changed === 1 ? [] : [`a password was changed ${changed} times from one that it had once`];
  },
  async function endedSessions(world) {
    const ada = await world.addPerson();
    const [left, switched, kept] = [
      await world.signIn(ada),
      await world.signIn(ada),
      await world.signIn(ada),
    ];
    const atSecond = [left, switched].map((session) => session.at(world.replicas[1]?.app ?? failed()));
    for (const session of atSecond) made(await session.get("/me"));
    made(await left.post("/auth/logout"));
    made(await switched.post("/auth/switch-organisation", { organisation_id: world.acme.id }));
    await delay(believedMs);
    const [leftThere = failed(), switchedThere = failed()] = atSecond;
    return [
      ...(await over("a session that its person has left", left, leftThere)),
      ...(await over("a session whose place another has taken", switched, switchedThere)),
      ...((await kept.get("/me")).status === 200 ? [] : ["another session ended with one that was left"]),
    ];
  },
  async function invitations(world) {
    const [ada, eve] = [await world.addPerson("admin"), await world.addPerson()];
    const admin = await world.signIn(ada);
    const invite = async (email: string) =>
      made(await admin.post("/invitations", { email, role: "admin" })).secret as string;
    const forOther = await invite("somebody@example.org");
    const stolen = await (await world.signIn(eve)).post("/me/organisations", { secret: forOther });
    const forNew = await invite("newcomer@example.org");
    const accept = (secret: string, replica: number) =>
      world.nobody(replica).post("/auth/invitation/accept", { secret, name: "New", password: newPassword });
    const joined = (await Promise.all([0, 1, 0, 1].map((replica) => accept(forNew, replica)))).filter(
      ({ status }) => status === 200,
    ).length;
    const left = await invite("left@example.org");
    made(await world.acme.owner.patch(`/members/${ada.memberId}`, { role: "viewer" }));
    const later = await accept(left, 0);
    return [
      ...(stolen.body.precondition?.name === "invitation_is_for_you"
        ? []
        : [`an invitation of somebody else let a person through: ${stolen.status} ${stolen.body.code}`]),
      ...(joined === 1 ? [] : [`one invitation let ${joined} in`]),
      ...(later.status === 422 ? [] : ["an invitation was worth what its maker may not give any more"]),
    ];
  },
];

async function openedAtOnce(
  world: SignInWorld,
  person: Parameters<SignInWorld["firstStep"]>[0],
  factor: Readonly<Record<string, string>>,
): Promise<number> {
  const signIns = [];
  for (const replica of [0, 1, 0, 1]) signIns.push(await world.firstStep(person, replica));
  const answers = await Promise.all(
    signIns.map((sign_in, index) =>
      world.nobody(index % 2).post("/auth/second-factor", { sign_in, ...factor }),
    ),
  );
  return answers.filter(({ status }) => status === 200).length;
}

async function over(what: string, ...sessions: readonly ApiCaller[]): Promise<string[]> {
  const answers = await Promise.all(sessions.map((session) => session.get("/me")));
  return answers.some(({ status }) => status === 200) ? [`${what} is taken`] : [];
}

function failed(): never {
  throw new Error("the world lacks a replica");
}
