import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid, Unauthorized } from "../../platform/errors.ts";
import { mutation } from "../../platform/mutation.ts";
import { verifyPassword } from "../../platform/passwords.ts";
import { type Reply, reply } from "../../platform/reply.ts";
import { beginLogin } from "./login-limit.ts";
import { findUserByEmail, listMemberships } from "./member-store.ts";
import { findOrganisation } from "./organisation-store.ts";
import { issueToken } from "./token-store.ts";
import { viewOrganisationRef } from "./view.ts";

const sessionSeconds = 12 * 3600;

/**
 * Opens a session. Whoever does not know the password learns nothing: an unknown e-mail, a wrong password and a user
 * who belongs nowhere answer the same, after the same work.
 */
export async function login(request: ApiRequest<"login">): Promise<Reply> {
  const { email, password, organisation_id: wanted } = request.body;
  request.established.auditDetails = { email };
  const attempt = await beginLogin(request.db, email, request.sourceAddress);
  const user = await findUserByEmail(request.db, email);
  const isRight = await verifyPassword(password, user?.password_hash ?? null);
  if (user === null || !isRight) throw wrong();
  await attempt.succeeded();

  const memberships = await listMemberships(request.db, user.id);
  if (memberships.length === 0 && !user.is_operator) throw wrong();
  const chosen = wanted === undefined ? memberships[0] : memberships.find((each) => each.id === wanted);
  if (wanted !== undefined && chosen === undefined)
    throw new Invalid([fieldError("/organisation_id", "not_found", "no such organisation")]);

  return mutation(request, async (tx) => {
    const organisation = chosen === undefined ? null : await findOrganisation(tx, chosen.id);
    const { row, secret } = await issueToken(tx, {
      kind: "session",
      name: "session",
      organisationId: organisation?.id ?? null,
      userId: user.id,
      lifetimeSeconds: sessionSeconds,
      createdBy: user.id,
    });
    if (row.expires_at === null) throw new Error("a session without an end");
    request.established.actor = {
      type: user.is_operator ? "operator" : "user",
      id: user.id,
      name: user.name,
    };
    if (organisation !== null)
      request.established.organisation = {
        ...organisation,
        status: organisation.status === "suspended" ? "suspended" : "active",
      };
    return {
      reply: reply(200, {
        token: secret,
        expires_at: row.expires_at.toISOString(),
        user: { id: user.id, email: user.email, name: user.name },
        organisation: organisation === null ? null : viewOrganisationRef(organisation),
      }),
      resource: row.id,
    };
  });
}

function wrong(): Unauthorized {
  return new Unauthorized("the e-mail or the password is wrong");
}
