import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { type OrganisationRole, roleAtMost, uselessScopes } from "@kule/rules/identity/permissions";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { reply } from "../../platform/reply.ts";
import { requireProofOfSession } from "../account/index.ts";
import { ceilingOf, requireGrantable } from "../members/index.ts";
import { minterOf } from "./minter.ts";
import { entryErrors, entryOf } from "./operators-entry.ts";
import { issueToken } from "./store.ts";
import { viewToken } from "./view.ts";

const secondsPerDay = 86_400;

export function checkCreateToken(
  request: ApiRequest<"createToken">,
  body: Partial<RequestBody<"createToken">>,
): FieldError[] {
  const errors: FieldError[] = [];
  if (request.organisationOrNull === null && body.role !== undefined)
    errors.push(
      fieldError("/role", "conflicts_with", "an operator token has no role; name an organisation for one"),
    );
  const role = roleFor(request, body.role);
  const scopes = body.scopes ?? [];
  for (const scope of uselessScopes(role, scopes))
    errors.push(
      fieldError(
        `/scopes/${scopes.indexOf(scope)}`,
        "not_one_of",
        `covers nothing that the role ${role} may do`,
      ),
    );
  return [...errors, ...entryErrors(request, body)];
}

/** Mints a token for the organisation, or for the installation's operators when none is named. */
export async function createToken(request: ApiRequest<"createToken">, tx: Tx): Promise<Outcome> {
  const { body, caller, organisationOrNull: organisation } = request;
  const role = roleFor(request, body.role);
  const scopes = body.scopes ?? [];
  requireGrantable(request, { role, scopes: scopes.length === 0 ? null : scopes });
  await requireProofOfSession(request, tx);
  const entry = organisation === null ? null : entryOf(request, body);
  const isOwnUser = organisation === null || caller.role !== null;
  const { row, secret } = await issueToken(tx, {
    kind: organisation === null ? "operator" : "organisation",
    name: body.name,
    organisationId: organisation?.id ?? null,
    // The token follows its maker: it ends with their membership and never may more than they may.
    userId: isOwnUser ? (caller.user?.id ?? null) : null,
    role: organisation === null ? null : role,
    scopes,
    lifetimeSeconds: (body.expires_in_days ?? 90) * secondsPerDay,
    createdBy: caller.actor.id,
    entry,
    ...(organisation === null && { minter: minterOf(request) }),
  });
  return {
    reply: reply(201, { token: viewToken(row), secret }, { Location: `/api/v1/tokens/${row.id}` }),
    resource: row.id,
    ...(entry === null ? {} : { details: { operator_reason: entry.reason } }),
    secretFields: ["secret"],
  };
}

function roleFor(request: ApiRequest, wanted: OrganisationRole | undefined): OrganisationRole | "operator" {
  if (request.organisationOrNull === null) return "operator";
  if (wanted !== undefined) return wanted;
  const ceiling = ceilingOf(request);
  return roleAtMost("member", ceiling) ? "member" : ceiling;
}
