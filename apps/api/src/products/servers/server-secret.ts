import type { OsFamily } from "@kule/rules/catalog/images";
import type { Tx } from "../../platform/database.ts";
import { sendAhead } from "../../platform/transaction.ts";
import { hashForLinux, makeConsolePassword, sealForWindows } from "./console-password.ts";
import type { ServerRow } from "./store.ts";

/**
 * Creates a password and stores what the region needs of it until a job has set it: its hash, or the password
 * sealed to the region's agent.
 *
 * @returns the password, to be shown once
 */
export function keepNewPassword(
  tx: Tx,
  server: Pick<ServerRow, "id" | "organisation_id">,
  osFamily: OsFamily,
  agentPublicKey: string | null,
): string {
  const password = makeConsolePassword();
  const stored =
    osFamily === "windows"
      ? sealForWindows(password, agentPublicKey ?? "", server.id)
      : hashForLinux(password);
  const row = tx
    .insertInto("server_secret")
    .values({ server_id: server.id, organisation_id: server.organisation_id, ...stored })
    .onConflict((conflict) => conflict.column("server_id").doUpdateSet(stored));
  sendAhead(tx, row);
  return password;
}

/** Deletes any password that is stored for the server: it is no longer needed. */
export function wipeSecret(tx: Tx, server: Pick<ServerRow, "id" | "organisation_id">): void {
  const row = tx
    .deleteFrom("server_secret")
    .where("organisation_id", "=", server.organisation_id)
    .where("server_id", "=", server.id);
  sendAhead(tx, row);
}
