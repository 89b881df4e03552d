import { oidcDefect } from "@kule/rules/identity/oidc";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { insertIdentity, viewIdentity } from "./identity-store.ts";
import { endFlow } from "./oidc-flow.ts";
import { notLetIn } from "./oidc-refusals.ts";
import { personOf } from "./person.ts";
import { sessionProof } from "./person-proof.ts";
import { requireProof, requireProofNow } from "./proof.ts";

/** The account at the provider is a way in from now on, whatever its e-mail is. */
export async function linkIdentity(request: ApiRequest<"linkIdentity">): Promise<Reply> {
  const { id: userId, sessionId } = personOf(request);
  // Before the flow is used up: after a new proof the person can present the same flow again.
  await requireProofNow(request);
  const { person, provider } = await endFlow(request, { of: "link", userId, sessionId }, request.body).catch(
    (error: unknown) => {
      // A 401 would mean that the session has ended.
      throw error instanceof Unauthorized ? refused() : error;
    },
  );
  const defect = oidcDefect(person, provider, true);
  if (defect !== null) throw notLetIn(defect, provider);
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      const row = await insertIdentity(tx, sessionProof(request), userId, person);
      // The account is linked already. The answer does not say to whom.
      if (row === null) throw notLetIn("identity_is_free", provider);
      return {
        reply: reply(201, viewIdentity(request.deps, row)),
        resource: row.id,
        details: { provider: provider.id },
      };
    },
    { evenIfSuspended: true },
  );
}

function refused(): Invalid {
  return new Invalid([
    fieldError(
      "/response",
      "incorrect",
      "is no answer to this flow, or one that came too late or a second time",
    ),
  ]);
}
