import { notEnrolled } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import { deleteRecoveryCodes, findSecondFactors, hasSecondFactor, lockTotp } from "./second-factor-store.ts";

/** From now on codes of the app are neither required nor accepted. */
export async function removeTotp(request: ApiRequest<"removeTotp">): Promise<Reply> {
  const { id } = personOf(request);
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      if ((await lockTotp(tx, id)) === null)
        throw new Conflict(
          notEnrolled("authenticator_app", "there is no authenticator app", {
            fix: "POST /me/totp",
          }),
        );
      await tx.deleteFrom("user_totp").where("user_id", "=", id).execute();
      if (!hasSecondFactor(await findSecondFactors(tx, id))) await deleteRecoveryCodes(tx, id);
      return { reply: noContent(), resource: id };
    },
    { evenIfSuspended: true },
  );
}
