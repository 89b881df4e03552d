import { providerAskedForSecondFactor } from "@kule/rules/identity/oidc";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { systemQuery, type Tx } from "../../platform/database.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { findIdentity, noteIdentityUse } from "./identity-store.ts";
import { beginAttempt } from "./login-limit.ts";
import { endFlow } from "./oidc-flow.ts";
import { type ShownPasskey, shownPasskey } from "./passkey-ceremonies.ts";
import { personOf } from "./person.ts";
import { passwordProof } from "./person-proof.ts";
import { findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";
import { takeSecondFactor } from "./take-second-factor.ts";
import { findUser } from "./user-store.ts";

/**
 * Proves again who the person is. With a second factor the password is not enough: otherwise an attacker with
 * a session and the password could remove the second factor.
 */
export async function proveIdentity(request: ApiRequest<"proveIdentity">): Promise<Reply> {
  const { password, passkey, oidc, ...factor } = request.body;
  const given = Object.values(request.body).filter((value) => value !== undefined);
  if (given.length !== 1)
    throw new Invalid([
      fieldError("", "required", "exactly one of password, code, recovery_code, passkey and oidc"),
    ]);
  const { id, sessionId } = personOf(request);
  const user = await findUser(request.db, id);
  if (password !== undefined && hasSecondFactor(await findSecondFactors(request.db, id)))
    throw new Invalid([
      fieldError("/password", "conflicts_with", "is not enough with a second factor; send a code"),
    ]);
  if (oidc !== undefined) return proveByProvider(request, oidc);
  const subject = password === undefined ? `second factor ${id}` : `email ${user.email.toLowerCase()}`;
  const attempt = await beginAttempt(request, subject, id);
  if (password !== undefined && (await passwordProof(request.db, id, password)) === null)
    throw new Invalid([fieldError("/password", "incorrect", "is not your password")]);
  const shown = passkey === undefined ? null : await shownPasskey(request, "prove", id, passkey);
  const answer = await mutation(
    request,
    async (tx) => {
      const by =
        password !== undefined
          ? "password"
          : passkey === undefined
            ? await takeSecondFactor(request, tx, id, factor)
            : await takePasskey(tx, shown);
      await noteProof(tx, sessionId);
      return { reply: noContent(), resource: sessionId, details: { by } };
    },
    { evenIfSuspended: true },
  );
  await attempt.succeeded();
  return answer;
}

async function takePasskey(tx: Tx, shown: ShownPasskey | null): Promise<"passkey"> {
  if (shown !== null && (await shown.take(tx))) return "passkey";
  throw new Invalid([fieldError("/passkey", "incorrect", "is not known here, or its answer came too late")]);
}

/** A minute for the clocks of two houses. */
const clockSeconds = 60;

/**
 * The provider must have authenticated the person again, after the redirect to it: a remembered session
 * proves nothing.
 */
async function proveByProvider(
  request: ApiRequest<"proveIdentity">,
  answer: { readonly flow: string; readonly response: string },
): Promise<Reply> {
  const { id: userId, sessionId } = personOf(request);
  const { provider, person, begunSeconds } = await endFlow(
    request,
    { of: "prove", userId, sessionId },
    answer,
  ).catch((error: unknown) => {
    // A 401 would mean that the session has ended.
    throw error instanceof Unauthorized ? notProven() : error;
  });
  const identity = await findIdentity(request.db, person);
  const isAnew = person.authenticatedAt !== null && person.authenticatedAt >= begunSeconds - clockSeconds;
  if (identity?.user_id !== userId || !isAnew) throw notProven();
  return mutation(
    request,
    async (tx) => {
      const factors = await findSecondFactors(tx, userId);
      if (hasSecondFactor(factors) && !providerAskedForSecondFactor(person, provider)) throw notProven();
      if (!(await noteIdentityUse(tx, identity.id, person.email))) throw notProven();
      await noteProof(tx, sessionId);
      return { reply: noContent(), resource: sessionId, details: { by: "oidc", provider: provider.id } };
    },
    { evenIfSuspended: true },
  );
}

async function noteProof(tx: Tx, sessionId: string): Promise<void> {
  await systemQuery(tx, "a session is found by its own id")
    .updateTable("token")
    .set({ proven_at: sql<Date>`clock_timestamp()` })
    .where("id", "=", sessionId)
    .execute();
}

function notProven(): Invalid {
  return new Invalid([
    fieldError(
      "/oidc",
      "incorrect",
      "is no answer that proves who you are: another account, too late, or not asked anew",
    ),
  ]);
}
