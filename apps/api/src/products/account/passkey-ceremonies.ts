import type { Schemas } from "@kule/contract/schemas";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { findPasskeyByCredential, listPasskeys, notePasskeyUse, type PasskeyRow } from "./passkey-store.ts";
import { personOf } from "./person.ts";
import { type PersonProof, passkeyProof } from "./person-proof.ts";
import { requireProofNow } from "./proof.ts";
import { openChallenge, sealChallenge, spendChallenge } from "./sealed-challenge.ts";
import { vaultOf } from "./totp.ts";
import { findUser } from "./user-store.ts";
import { authenticationOptions, registrationOptions, verifiedUse } from "./webauthn.ts";

type Purpose = "register" | "prove" | "login";

const purposeOf = (purpose: Purpose, userId: string | null) => `${purpose} ${userId ?? "anybody"}`;

/** The options for the browser, to register a passkey or to prove who the person is. */
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

/** The answer that makes a browser request a passkey. */
export async function ceremony(
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
  /** For Postgres, after `take`. */
  readonly proof: PersonProof;
  /** Records the use and spends the challenge. False when a concurrent request was first. */
  take(tx: Tx): Promise<boolean>;
};

/**
 * The passkey that a browser has answered with, or null when it is unknown, another person's, or the answer
 * is invalid.
 *
 * @param userId whose it must be; null for the person whom the passkey names
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
