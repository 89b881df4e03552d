import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { defaultUserOf, osFamilyOf } from "@kule/rules/catalog/images";
import type { Refusal } from "@kule/rules/decision";
import { decidePasswordReset, nextBootDefect } from "@kule/rules/servers/password-reset";
import { decideServerAction } from "@kule/rules/servers/preconditions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid, NotFound } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { viewWrittenJob } from "../jobs/index.ts";
import { blocked, linksTo, refuseConflicts, would, writtenServer } from "./answers.ts";
import { queueServerJob } from "./queue-server-job.ts";
import { keepNewPassword } from "./server-secret.ts";
import { agentAnswersOf, lockedState } from "./server-state.ts";
import { findAgentKey, lockServer, type ServerDetails } from "./store.ts";

type Request = ApiRequest<"resetServerPassword">;

/**
 * At its next start a guest accepts a password for the login name that it was created with, and for no other.
 * Windows accepts none: it would have to be on its drive in clear text (ADR 0029).
 */
export function checkResetServerPassword(
  _request: Request,
  { when, username }: Partial<RequestBody<"resetServerPassword">>,
  found: Pick<ServerDetails, "image">,
): FieldError[] {
  const defect = when === "next_boot" ? nextBootDefect(osFamilyOf(found.image)) : null;
  if (defect !== null) return [fieldError("/when", "not_one_of", defect)];
  const user = defaultUserOf(found.image);
  if (when !== "next_boot" || username === undefined || username === user) return [];
  return [fieldError("/username", "conflicts_with", `can only be ${user} with when: next_boot`)];
}

/** Creates the password and the job that sets it. Nothing else of the server changes. */
export async function resetServerPassword(request: Request, tx: Tx, found: ServerDetails): Promise<Outcome> {
  const { when = "now" } = request.body;
  const server = await lockServer(tx, found.organisation_id, found.id);
  if (server === null || server.status === "deleted") throw new NotFound();
  request.checkGeneration(server);
  // It may have been rebuilt with another system since it was found.
  const changed = checkResetServerPassword(request, request.body, server);
  if (changed.length > 0) throw new Invalid(changed);
  const username = request.body.username ?? defaultUserOf(server.image);
  const osFamily = osFamilyOf(server.image);
  const agentKey = await findAgentKey(tx, server.region);
  const { state } = await lockedState(tx, server);
  // As old as it was when the server was found, a moment before it was locked.
  const agentAnswers = agentAnswersOf(server, found.ages);
  const refusals: Refusal[] = [
    ...decideServerAction(when === "now" ? "password_reset_now" : "password_reset", {
      ...state,
      agentAnswers,
    }),
    ...decidePasswordReset({
      needsSealedPassword: osFamily === "windows",
      regionHasAgentKey: agentKey !== null,
      region: server.region,
    }),
  ];
  if (request.dryRun && refusals.length > 0) return blocked(refusals);
  refuseConflicts(refusals, server.status);

  const job = await queueServerJob(request, tx, server, {
    kind: "ServerPasswordReset",
    parameters: { username, when },
  });
  const password = request.dryRun ? null : keepNewPassword(tx, server, osFamily, agentKey);
  const written = await writtenServer(tx, server.organisation_id, server.id);
  if (request.dryRun) return would(written, "ServerPasswordReset", null);
  const answer: Schemas["ServerPasswordChanged"] = {
    server: written,
    job: await viewWrittenJob(tx, job, request.caller),
    username,
    password,
  };
  return {
    reply: reply(202, answer, linksTo(job)),
    resource: server.id,
    details: { job: job.id },
    secretFields: ["password"],
  };
}
