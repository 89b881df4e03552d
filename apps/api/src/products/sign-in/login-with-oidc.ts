import { createHash } from "node:crypto";
import { oidcDefect, providerAskedForSecondFactor } from "@kule/rules/identity/oidc";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import {
  beginAttempt,
  doesNotHold,
  type EndedFlow,
  endFlow,
  findIdentity,
  findSecondFactors,
  findUser,
  hasSecondFactor,
  type IdentityRow,
  noteIdentityUse,
  notLetIn,
} from "../account/index.ts";
import { signUpWithOidc } from "./oidc-sign-up.ts";
import { chooseSessionPlace, openSession, requireSamePassword } from "./open-session.ts";
import { askForSecondFactor, isWithoutSecondFactor } from "./second-step.ts";

/**
 * Opens a session for the person whose identity a provider has confirmed: known by issuer and subject, or new
 * and admitted.
 */
export async function loginWithOidc(request: ApiRequest<"loginWithOidc">): Promise<Reply> {
  const { flow, response } = request.body;
  const ended = await endLimited(request, { flow, response });
  const { person, provider } = ended;
  request.established.auditDetails = { provider: provider.id };
  const identity = await findIdentity(request.db, person);
  const defect = oidcDefect(person, provider, identity !== null);
  if (defect !== null) throw notLetIn(defect, provider);
  return identity === null ? signUpWithOidc(request, ended) : enter(request, ended, identity);
}

/** An invalid answer counts as a failed login of the address: each one costs a request to the provider. */
async function endLimited(
  request: ApiRequest,
  answer: { readonly flow: string; readonly response: string },
): Promise<EndedFlow> {
  const subject = `oidc ${createHash("sha256").update(answer.flow).digest("hex")}`;
  const attempt = await beginAttempt(request, subject, null);
  try {
    const ended = await endFlow(request, { of: "login" }, answer);
    await attempt.succeeded();
    return ended;
  } catch (error) {
    if (!(error instanceof Unauthorized)) await attempt.succeeded();
    throw error;
  }
}

async function enter(
  request: ApiRequest<"loginWithOidc">,
  { person, provider }: EndedFlow,
  identity: IdentityRow,
): Promise<Reply> {
  const user = await findUser(request.db, identity.user_id);
  const place = await chooseSessionPlace(request.db, user, request.body.organisation_id);
  if (place === null) throw notLetIn("invited", provider);
  const details = { provider: provider.id };
  const factors = await findSecondFactors(request.db, user.id);
  const isAsked = hasSecondFactor(factors) && !providerAskedForSecondFactor(person, provider);
  const proof = { by: "identity", id: identity.id } as const;
  const use = async (tx: Tx) => {
    if (!(await noteIdentityUse(tx, identity.id, person.email))) throw doesNotHold();
  };
  if (isAsked)
    return askForSecondFactor(request, user.id, factors, {
      proof,
      details,
      also: async (tx) => {
        await requireSamePassword(tx, user);
        await use(tx);
      },
    });
  // A provider that remembers the person has not authenticated them again: that is enough for a sign-in, but
  // not for a proof.
  const opening = {
    proof,
    by: "oidc",
    identityId: identity.id,
    provenSeconds: person.authenticatedAt,
    details,
  } as const;
  return openSession(request, user, place, opening, {
    before: async (tx) => {
      await use(tx);
      if (!hasSecondFactor(factors) && !(await isWithoutSecondFactor(tx, user.id))) throw doesNotHold();
    },
  });
}
