import { notEnrolled } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import { findSecondFactors, hasSecondFactor, replaceRecoveryCodesOf } from "./second-factor-store.ts";

/** Creates ten new recovery codes; the previous ones become invalid. */
export async function replaceRecoveryCodes(request: ApiRequest<"replaceRecoveryCodes">): Promise<Reply> {
  const { id } = personOf(request);
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      if (!hasSecondFactor(await findSecondFactors(tx, id)))
        throw new Conflict(
          notEnrolled("second_factor", "codes recover a second factor, and there is none", {
            fix: "POST /me/totp",
          }),
        );
      return {
        reply: reply(200, { recovery_codes: await replaceRecoveryCodesOf(tx, id) }),
        resource: id,
        secretFields: ["recovery_codes"],
      };
    },
    { evenIfSuspended: true },
  );
}
