import { alreadyEnrolled } from "@kule/rules/refusals";
import { sql } from "kysely";
import type { ApiRequest } from "../../platform/api-request.ts";
import { Conflict } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { personOf } from "./person.ts";
import { requireProof } from "./proof.ts";
import { lockTotp } from "./second-factor-store.ts";
import { makeTotp, openTotp, vaultOf } from "./totp.ts";
import { findUser } from "./user-store.ts";

/** Creates the secret for an authenticator app. It has no effect until a code of it is confirmed. */
export async function beginTotp(request: ApiRequest<"beginTotp">): Promise<Reply> {
  const { id } = personOf(request);
  return mutation(
    request,
    async (tx) => {
      await requireProof(request, tx);
      const vault = vaultOf(request.deps);
      const { email } = await findUser(tx, id);
      const known = await lockTotp(tx, id);
      if (known !== null && known.confirmed_at !== null)
        throw new Conflict(
          alreadyEnrolled("no_authenticator_app", "there is an authenticator app already", {
            fix: "DELETE /me/totp",
          }),
        );
      // The page with the QR code was loaded again: the secret that the app may have scanned stays valid.
      const begun = known?.is_fresh
        ? openTotp(vault, id, email, known.sealed_secret)
        : makeTotp(vault, id, email);
      if ("sealed" in begun)
        await tx
          .insertInto("user_totp")
          .values({ user_id: id, sealed_secret: begun.sealed })
          .onConflict((on) =>
            on
              .column("user_id")
              .doUpdateSet({ sealed_secret: begun.sealed, created_at: sql<Date>`clock_timestamp()` })
              .where("user_totp.confirmed_at", "is", null),
          )
          .execute();
      return {
        reply: reply(200, { secret: begun.secret, otpauth_uri: begun.otpauthUri }),
        resource: id,
        secretFields: ["secret", "otpauth_uri"],
      };
    },
    { evenIfSuspended: true },
  );
}
