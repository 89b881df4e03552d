import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import {
  findSecondFactors,
  hasSecondFactor,
  type PersonProof,
  type SecondFactors,
  secondFactorMethods,
} from "../account/index.ts";
import { beginSignIn } from "./sign-in-store.ts";

/** The first step of the sign-in. */
export type FirstStep = {
  readonly proof: PersonProof;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Other checks that must hold in the transaction that ends it. */
  readonly also?: (tx: Tx) => Promise<void>;
};

/** The first step was right: answers with the methods for the second one. */
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

/** False when a second factor was added between the check and this transaction: the next try requires it. */
export async function isWithoutSecondFactor(tx: Tx, userId: string): Promise<boolean> {
  return !hasSecondFactor(await findSecondFactors(tx, userId));
}
