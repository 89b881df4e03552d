import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import type { PersonProof } from "./person-proof.ts";
import {
  findSecondFactors,
  hasSecondFactor,
  type SecondFactors,
  secondFactorMethods,
} from "./second-factor-store.ts";
import { beginSignIn } from "./sign-in-store.ts";

/** What was the first step. */
export type FirstStep = {
  readonly proof: PersonProof;
  readonly details?: Readonly<Record<string, unknown>>;
  /** What must be true together with it. */
  readonly also?: (tx: Tx) => Promise<void>;
};

/** The first step was right: says with what the second one is to be done. */
export function askForSecondFactor(
  request: ApiRequest,
  userId: string,
  factors: SecondFactors,
  first: FirstStep,
): Promise<Reply> {
  return mutation(request, async (tx) => {
    await first.also?.(tx);
    const begun = await beginSignIn(tx, first.proof, userId);
    if (begun === null) throw new Unauthorized("what was shown does not hold any more");
    const { secret, expiresAt } = begun;
    return {
      reply: reply(202, {
        sign_in: secret,
        expires_at: expiresAt.toISOString(),
        methods: secondFactorMethods(factors),
      }),
      resource: userId,
      details: { second_factor_needed: true, ...first.details },
    };
  });
}

/** False when one was added between the look at it and this transaction: the next try is asked for it. */
export async function isWithoutSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  return !hasSecondFactor(await findSecondFactors(tx, userId));
}
