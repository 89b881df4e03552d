import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { findPasskeyByCredential, listPasskeys, notePasskeyUse, type PasskeyRow } from "./passkey-store.ts";
import { findUser, personOf } from "./person.ts";
import { type PersonProof, passkeyProof } from "./person-proof.ts";
import { requireProofNow } from "./proof.ts";
import { openChallenge, sealChallenge, spendChallenge } from "./sealed-challenge.ts";
import { findSignIn } from "./sign-in-store.ts";
import { vaultOf } from "./totp.ts";
import { authenticationOptions, registrationOptions, verifiedUse } from "./webauthn.ts";

type Purpose = "register" | "prove" | "login";

const purposeOf = (purpose: Purpose, userId: string | null) => `${purpose} ${userId ?? "anybody"}`;

/** What the browser is to be asked, to register a passkey or to prove who it is. */
export async function beginPasskey(request: ApiRequest<"beginPasskey">): Promise<Reply> {
  const { id } = personOf(request);
  const { purpose } = request.body;
  const existing = await listPasskeys(request.db, id);
  if (purpose === "prove")
    return ceremony(request, "prove", id, await authenticationOptions(request.deps, existing));
  await requireProofNow(request);
  const user = await findUser(request.db, id);
  return ceremony(request, "register", id, await registrationOptions(request.deps, user, existing));
}

/** The same for who is not signed in. Without a sign-in nothing in the answer depends on who has passkeys. */
export async function beginPasskeyLogin(request: ApiRequest<"beginPasskeyLogin">): Promise<Reply> {
  const { sign_in: signIn } = request.body;
  const userId = signIn === undefined ? null : ((await findSignIn(request.db, signIn))?.userId ?? null);
  if (signIn !== undefined && userId === null) throw new Unauthorized("the sign-in is over; start again");
  const allowed = userId === null ? null : await listPasskeys(request.db, userId);
  return ceremony(request, "login", userId, await authenticationOptions(request.deps, allowed));
}

async function ceremony(
  request: ApiRequest,
  purpose: Purpose,
  userId: string | null,
  options: { readonly challenge: string },
): Promise<Reply> {
  const vault = vaultOf(request.deps);
  const text = await sealChallenge(request.db, vault, purposeOf(purpose, userId), options.challenge);
  return reply(200, { ceremony: text, options } satisfies {
    ceremony: string;
    options: object;
  } as Schemas["PasskeyCeremony"]);
}

/** The challenge of a ceremony; null when it is not for this, or late. */
export async function challengeOf(
  request: ApiRequest,
  purpose: Purpose,
  userId: string | null,
  text: string,
): Promise<string | null> {
  const value = await openChallenge(request.db, vaultOf(request.deps), purposeOf(purpose, userId), text);
  return typeof value === "string" ? value : null;
}

export type ShownPasskey = {
  readonly passkey: PasskeyRow;
  /** For Postgres, once it was taken. */
  readonly proof: PersonProof;
  /** Notes the use and spends the challenge. False when somebody else was faster. */
  take(tx: Tx): Promise<boolean>;
};

/**
 * The passkey that a browser has answered with, or null when it is unknown, somebody else's, or the answer does not
 * hold.
 *
 * @param userId whose it must be; null for whoever it says
 */
export async function shownPasskey(
  request: ApiRequest,
  purpose: "prove" | "login",
  userId: string | null,
  answer: { readonly ceremony: string; readonly response: Readonly<Record<string, unknown>> },
): Promise<ShownPasskey | null> {
  const challenge = await challengeOf(request, purpose, userId, answer.ceremony);
  const { id: credential } = answer.response;
  if (challenge === null || typeof credential !== "string" || !/^[\w-]{1,1400}$/.test(credential))
    return null;
  const passkey = await findPasskeyByCredential(request.db, credential);
  if (passkey === null || (userId !== null && passkey.user_id !== userId)) return null;
  const signCount = await verifiedUse(request.deps, challenge, passkey, answer.response);
  if (signCount === null) return null;
  return {
    passkey,
    proof: passkeyProof(passkey.id, challenge),
    take: async (tx) =>
      (await spendChallenge(tx, challenge)) &&
      (await notePasskeyUse(tx, passkey.id, Number(passkey.sign_count), signCount)),
  };
}
