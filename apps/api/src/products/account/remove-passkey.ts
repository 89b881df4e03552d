import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { noContent, type Reply } from "../../platform/reply.ts";
import { requireOtherSignInMethod } from "./identity-store.ts";
import type { PasskeyRow } from "./passkey-store.ts";
import { requireProof } from "./proof.ts";
import { deleteRecoveryCodes, findSecondFactors, hasSecondFactor } from "./second-factor-store.ts";

/** From now on it opens no session. The copy on the person's device is useless. */
export function removePasskey(request: ApiRequest<"removePasskey">, passkey: PasskeyRow): Promise<Reply> {
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      await requireOtherSignInMethod(request.deps, tx, passkey.user_id, { passkey: passkey.id });
      const gone = await tx
        .deleteFrom("passkey")
        .where("id", "=", passkey.id)
        .where("user_id", "=", passkey.user_id)
        .returning("id")
        .execute();
      if (gone.length === 0) throw new NotFound();
      if (!hasSecondFactor(await findSecondFactors(tx, passkey.user_id)))
        await deleteRecoveryCodes(tx, passkey.user_id);
      return { reply: noContent(), resource: passkey.id, details: { name: passkey.name } };
    },
    { evenIfSuspended: true },
  );
}
