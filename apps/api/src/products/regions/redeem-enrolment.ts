import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { issueToken, viewToken } from "../tokens/index.ts";
import { takeEnrolment } from "./enrolment-store.ts";
import { lockRegion } from "./store.ts";

/** An agent exchanges an operator's code for a token. Like every public call it is limited by the caller's address. */
export async function redeemEnrolment(request: ApiRequest<"redeemEnrolment">, tx: Tx): Promise<Outcome> {
  const { secret, name } = request.body;
  const enrolment = await takeEnrolment(tx, secret);
  if (enrolment === null) throw new Invalid([givesNothing()]);
  const region = await lockRegion(tx, enrolment.region);
  if (region === null || region.mode === "direct") throw new Invalid([givesNothing()]);
  const issued = await issueToken(tx, {
    kind: "agent",
    name,
    region: enrolment.region,
    lifetimeSeconds: null,
    createdBy: enrolment.createdBy,
  });
  return {
    reply: reply(201, { region: enrolment.region, token: viewToken(issued.row), secret: issued.secret }),
    resource: issued.row.id,
    details: { region: enrolment.region, enrolment: enrolment.id },
  };
}

const givesNothing = () =>
  fieldError("/secret", "not_found", "gives no token; ask an operator for a new code");
