import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { challengeOf } from "./passkey-ceremonies.ts";
import { insertPasskey } from "./passkey-store.ts";
import { personOf } from "./person.ts";
import { sessionProof } from "./person-proof.ts";
import { requireProof } from "./proof.ts";
import { spendChallenge } from "./sealed-challenge.ts";
import { findSecondFactors, hasSecondFactor, replaceRecoveryCodesOf } from "./second-factor-store.ts";
import { viewPasskey } from "./view-passkey.ts";
import { verifiedRegistration } from "./webauthn.ts";

/** Stores the public key of a passkey that a browser has just created. */
export async function addPasskey(request: ApiRequest<"addPasskey">): Promise<Reply> {
  const { id: userId } = personOf(request);
  const { ceremony, name, response } = request.body;
  const challenge = await challengeOf(request, "register", userId, ceremony);
  const made = challenge === null ? null : await verifiedRegistration(request.deps, challenge, response);
  if (challenge === null || made === null) throw refused();
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      if (!(await spendChallenge(tx, challenge))) throw refused();
      const isFirst = !hasSecondFactor(await findSecondFactors(tx, userId));
      const row = await insertPasskey(tx, sessionProof(request), { ...made, user_id: userId, name });
      // The passkey is registered already. The answer does not say to whom.
      if (row === null) throw refused();
      const codes = isFirst ? await replaceRecoveryCodesOf(tx, userId) : null;
      return {
        reply: reply(201, { passkey: viewPasskey(row), recovery_codes: codes }),
        resource: row.id,
        secretFields: ["recovery_codes"],
      };
    },
    { evenIfSuspended: true },
  );
}

function refused(): Invalid {
  return new Invalid([
    fieldError("/response", "incorrect", "is no answer to this ceremony, or one that came too late"),
  ]);
}
