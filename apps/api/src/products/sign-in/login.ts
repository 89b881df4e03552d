import type { ApiRequest } from "../../platform/api-request.ts";
import { Unauthorized } from "../../platform/errors.ts";
import type { Reply } from "../../platform/reply.ts";
import {
  beginLogin,
  findSecondFactors,
  findUserByEmail,
  hasSecondFactor,
  passwordProof,
} from "../account/index.ts";
import { chooseSessionPlace, openSession } from "./open-session.ts";
import { askForSecondFactor } from "./second-step.ts";

/**
 * Opens a session. Without the password a caller learns nothing: an unknown e-mail, a wrong password and a
 * user without an organisation get the same answer, after the same work.
 */
export async function login(request: ApiRequest<"login">): Promise<Reply> {
  const { email, password, organisation_id: wanted } = request.body;
  request.established.auditDetails = { email };
  const user = await findUserByEmail(request.db, email);
  const attempt = await beginLogin(request, email, user?.id ?? null);
  const proof = await passwordProof(request.db, user?.id ?? null, password);
  if (user === null || proof === null) throw wrong();
  await attempt.succeeded();
  const place = await chooseSessionPlace(request.db, user, wanted);
  if (place === null) throw wrong();
  const factors = await findSecondFactors(request.db, user.id);
  return hasSecondFactor(factors)
    ? askForSecondFactor(request, user.id, factors, { proof })
    : openSession(request, user, place, { proof, by: "password", refusal: isWrong });
}

const isWrong = "the e-mail or the password is wrong";

function wrong(): Unauthorized {
  return new Unauthorized(isWrong);
}
