import type { ApiRequest } from "../../platform/api-request.ts";
import { NotFound } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import type { PasskeyRow } from "./passkey-store.ts";
import { viewPasskey } from "./view-passkey.ts";

export function renamePasskey(request: ApiRequest<"renamePasskey">, passkey: PasskeyRow): Promise<Reply> {
  return mutation(
    request,
    async (tx) => {
      const row = await tx
        .updateTable("passkey")
        .set({ name: request.body.name })
        .where("id", "=", passkey.id)
        .where("user_id", "=", passkey.user_id)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) throw new NotFound();
      return { reply: reply(200, viewPasskey(row)), resource: row.id };
    },
    { evenIfSuspended: true },
  );
}
