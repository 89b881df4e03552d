import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { Client } from "pg";

import { ApiCaller } from "../api-caller.ts";
import type { ApiWorld } from "../api-world.ts";
import { openedSession } from "../as-owner.ts";
import { Authenticator } from "../authenticator.ts";
import { SoftPasskey } from "../soft-passkey.ts";
import { answerOf, newSoftPerson, ownAnswer, sharedProvider } from "../soft-sign-ins.ts";
import { type MemberOfTenant, made, type Role, type Tenant } from "./tenant.ts";

/** A person who is signed in. */
export type Person = {
  readonly member: MemberOfTenant;
  readonly userId: string;
  readonly caller: ApiCaller;
};

export async function addPerson(world: ApiWorld, tenant: Tenant, role: Role = "admin"): Promise<Person> {
  const member = await tenant.addMember(role);
  const caller = await tenant.signIn(world, member);
  return { member, userId: made(await caller.get("/me")).user.id, caller };
}

/** One more session of the person, which may be used up. */
export async function addSession(world: ApiWorld, tenant: Tenant, person: Person): Promise<string> {
  // Without the sign-in, which requires the passkey of a person who has one.
  const { id } = await openedSession(world.database.ownerUrl, {
    organisationId: tenant.id,
    userId: person.userId,
    lifetimeSeconds: 86_400,
  });
  return id;
}

export type PersonalCall = { readonly caller: ApiCaller; readonly body?: unknown };

/** The first passkey of each person, by the person's id. */
const held = new Map<string, SoftPasskey>();

type Make = (world: ApiWorld, person: Person) => Promise<PersonalCall> | PersonalCall;

/** Adds an authenticator app to the person's account. */
export async function enrol(person: Person): Promise<Authenticator> {
  const app = await begin(person);
  made(await person.caller.post("/me/totp/confirm", { code: app.next() }));
  return app;
}

const begin = async ({ caller }: Person) =>
  new Authenticator(made(await caller.post("/me/totp")).secret as string);

async function asOperator(
  world: ApiWorld,
  { userId, member: { email, password } }: Person,
): Promise<PersonalCall> {
  await asOwner(world, "update app_user set is_operator = true where id = $1", [userId]);
  const opened = made(await new ApiCaller(world.app, null).post("/auth/login", { email, password }));
  const acting = { "Kule-Organisation": opened.organisation.id };
  return { caller: new ApiCaller(world.app, opened.token, acting) };
}

/**
 * These change how a person signs in or end sessions that other calls depend on, so each call is made by a
 * person of its own.
 */
const byNewPerson: { readonly [id in OperationId]?: Make } = {
  logout: (_world, { caller }) => ({ caller }),
  switchOrganisation: async (_world, { caller }) => ({
    caller,
    body: { organisation_id: made(await caller.get("/me")).organisation.id },
  }),
  joinOrganisation: async (world, { caller, member }) => {
    const elsewhere = await world.addOrganisation(`joined-${member.id.slice(4, 30).replaceAll("_", "")}`);
    const wanted = { email: member.email, role: "viewer" };
    return { caller, body: { secret: made(await elsewhere.owner.post("/invitations", wanted)).secret } };
  },
  leaveOrganisation: (_world, { caller }) => ({ caller }),
  revokeOtherSessions: (_world, { caller }) => ({ caller }),
  changePassword: (_world, { caller, member }) => ({ caller, body: newPassword(member) }),
  proveIdentity: (_world, { caller, member }) => ({ caller, body: { password: member.password } }),
  beginTotp: (_world, { caller }) => ({ caller }),
  confirmTotp: async (_world, person) => {
    const app = await begin(person);
    return { caller: person.caller, body: { code: app.next() } };
  },
  removeTotp: async (_world, person) => {
    await enrol(person);
    return { caller: person.caller };
  },
  replaceRecoveryCodes: async (_world, person) => {
    await enrol(person);
    return { caller: person.caller };
  },
  addPasskey: async (_world, { caller }) => ({ caller, body: await newPasskey(caller, new SoftPasskey()) }),
  loginWithPasskey: async ({ app }, { caller }) => {
    const passkey = new SoftPasskey();
    made(await caller.post("/me/passkeys", await newPasskey(caller, passkey)));
    const nobody = new ApiCaller(app, null);
    const { ceremony, options } = made(await nobody.post("/auth/passkey-options", {}));
    return { caller: nobody, body: { ceremony, response: passkey.use(options) } };
  },
  linkIdentity: async (_world, { caller }) => ({
    caller,
    body: await ownAnswer(caller, await sharedProvider(), newSoftPerson(), "link"),
  }),
  loginWithOidc: async ({ app }, { caller }) => {
    const provider = await sharedProvider();
    const soft = newSoftPerson();
    made(await caller.post("/me/identities", await ownAnswer(caller, provider, soft, "link")));
    const nobody = new ApiCaller(app, null);
    return { caller: nobody, body: await answerOf(nobody, provider, soft) };
  },
  // By an operator who is signed in.
  resetSecondFactor: (world, person) => asOperator(world, person),
  createPasswordReset: (world, person) => asOperator(world, person),
  login: ({ app }, { member: { email, password } }) => ({
    caller: new ApiCaller(app, null),
    body: { email, password },
  }),
  completeLogin: async ({ app }, person) => {
    const authenticator = await enrol(person);
    const nobody = new ApiCaller(app, null);
    const { email, password } = person.member;
    const { sign_in } = made(await nobody.post("/auth/login", { email, password }));
    return { caller: nobody, body: { sign_in, code: authenticator.next() } };
  },
};

/** Whether the operation ends or changes what other calls with the same session depend on. */
export function needsNewPerson(id: OperationId): boolean {
  return byNewPerson[id] !== undefined;
}

/** The caller and body of a call that only a person can make; null for calls that tokens make as well. */
export async function personalCall(
  { id, permission }: Pick<OperationInfo, "id" | "permission">,
  side: { readonly tenant: Tenant; readonly person: Person },
  world: ApiWorld,
): Promise<PersonalCall | null> {
  const make = byNewPerson[id];
  if (make !== undefined) return make(world, await addPerson(world, side.tenant));
  return permission === "session" ? { caller: side.person.caller } : null;
}

/** A sign-in has no caller. */
export const signIns: ReadonlySet<OperationId> = new Set([
  "login",
  "completeLogin",
  "loginWithPasskey",
  "loginWithOidc",
]);

/** Operations that any token may call and that only work for sessions: other tokens get 409. */
export const ofSessions: ReadonlySet<OperationId> = new Set([
  "logout",
  "joinOrganisation",
  "switchOrganisation",
  "resetSecondFactor",
  "createPasswordReset",
]);

/** The body that registers the passkey with this session. */
export async function newPasskey(caller: ApiCaller, passkey: SoftPasskey) {
  const { ceremony, options } = made(await caller.post("/me/passkey-options", { purpose: "register" }));
  return { ceremony, name: "a passkey", response: passkey.register(options) };
}

/** One more passkey of the person, who has just proven who they are. */
export async function addPasskey(world: ApiWorld, { caller, userId }: Person): Promise<string> {
  await setProof(world, userId, "now()");
  const passkey = new SoftPasskey();
  if (!held.has(userId)) held.set(userId, passkey);
  return made(await caller.post("/me/passkeys", await newPasskey(caller, passkey))).passkey.id;
}

/** One more account of the person at the provider, who has just proven who they are. */
export async function addIdentity(world: ApiWorld, { caller, userId }: Person): Promise<string> {
  await setProof(world, userId, "now()");
  const answer = await ownAnswer(caller, await sharedProvider(), newSoftPerson(), "link");
  return made(await caller.post("/me/identities", answer)).id;
}

/** The person shows the first of their passkeys, which none of the proofs removes. */
export async function passkeyProof({ caller, userId }: Person) {
  const passkey = held.get(userId);
  if (passkey === undefined) throw new Error("the person has no passkey");
  const { ceremony, options } = made(await caller.post("/me/passkey-options", { purpose: "prove" }));
  return { passkey: { ceremony, response: passkey.use(options) } };
}

/** As if it were long ago that the person has shown who they are. */
export function forgetProof(world: ApiWorld, { userId }: Person): Promise<void> {
  return setProof(world, userId, "null");
}

function setProof(world: ApiWorld, userId: string, at: "now()" | "null"): Promise<void> {
  const text = `update token set proven_at = ${at} where user_id = $1 and kind = 'session'`;
  return asOwner(world, text, [userId]);
}

async function asOwner(world: ApiWorld, text: string, values: readonly string[]): Promise<void> {
  const owner = new Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query(text, [...values]);
  } finally {
    await owner.end();
  }
}

/** The same again: calls with it can be repeated for ever. */
export function newPassword({ password }: MemberOfTenant) {
  return { current_password: password, new_password: password };
}
