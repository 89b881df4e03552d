import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import {
  findSecondFactors,
  hasSecondFactor,
  type SecondFactors,
  secondFactorMethods,
} from "./second-factor-store.ts";
import { beginSignIn } from "./sign-in-store.ts";

/** What was the first step, when it was no password. */
export type FirstStep = {
  readonly identityId: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** What must be true together with it. */
  readonly also: (tx: Tx) => Promise<void>;
};

/** The first step was right: says with what the second one is to be done. */
export function askForSecondFactor(
  request: ApiRequest,
  userId: string,
  factors: SecondFactors,
  first?: FirstStep,
): Promise<Reply> {
  return mutation(request, async (tx) => {
    await first?.also(tx);
    const { secret, expiresAt } = await beginSignIn(tx, userId, first?.identityId ?? null);
    return {
      reply: reply(202, {
        sign_in: secret,
        expires_at: expiresAt.toISOString(),
        methods: secondFactorMethods(factors),
      }),
      resource: userId,
      details: { second_factor_needed: true, ...first?.details },
    };
  });
}

/** False when one was added between the look at it and this transaction: the next try is asked for it. */
export async function isWithoutSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  return !hasSecondFactor(await findSecondFactors(tx, userId));
}
