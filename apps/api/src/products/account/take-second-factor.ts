import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { useRecoveryCode } from "./second-factor-store.ts";
import { takeCode, vaultOf } from "./totp.ts";

export type GivenFactor = {
  readonly code?: string | undefined;
  readonly recovery_code?: string | undefined;
};

/**
 * Accepts a code of the person's app or a recovery code, in the transaction of the change that it permits: if
 * that is refused, the code stays unused.
 *
 * @throws Invalid for a wrong one, and for one that was used before
 */
export async function takeSecondFactor(
  request: ApiRequest,
  tx: Tx,
  userId: string,
  given: GivenFactor,
): Promise<"totp" | "recovery_code"> {
  if (given.code !== undefined) {
    if (await takeCode(tx, vaultOf(request.deps), userId, given.code)) return "totp";
    throw new Invalid([fieldError("/code", "incorrect", "is wrong or was used before")]);
  }
  if (given.recovery_code !== undefined && (await useRecoveryCode(tx, userId, given.recovery_code)))
    return "recovery_code";
  throw new Invalid([fieldError("/recovery_code", "incorrect", "is wrong or was used before")]);
}
