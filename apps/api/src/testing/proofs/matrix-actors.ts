import { type CallerRole, permissionsOf } from "@kule/rules/identity/permissions";
import type { ApiCaller } from "../api-caller.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

export type Actor = {
  readonly name: string;
  readonly caller: ApiCaller;
  /** The side whose objects are its own; for an actor without one, the organisation that it tries. */
  readonly side: Side;
  readonly other: Side;
  readonly kind: "nobody" | "organisation" | "operator" | "agent";
  readonly permissions: ReadonlySet<string>;
};

/** Every kind of actor, from both sides. */
export function actorsOf(all: TwoOrganisations): Actor[] {
  const { a, b, callers, regions } = all;
  const actor = (
    name: string,
    caller: ApiCaller,
    kind: Actor["kind"],
    role: CallerRole | null,
    side = a,
  ): Actor => ({
    name,
    caller,
    side,
    other: side === a ? b : a,
    kind,
    permissions: new Set(
      role === null ? [] : [...permissionsOf(role), ...(caller === callers.session ? ["session"] : [])],
    ),
  });
  return [
    actor("nobody", callers.none, "nobody", null),
    actor("garbage for a token", callers.garbage, "nobody", null),
    actor("a token with a wrong checksum", callers.wrongChecksum, "nobody", null),
    actor("a token with another's prefix", callers.wrongPrefix, "nobody", null),
    actor("a console's cookie at the API", callers.cookie, "nobody", null),
    actor("an expired token", callers.expired, "nobody", null),
    actor("a revoked token", callers.revoked, "nobody", null),
    actor("owner of A", a.tenant.callers.owner, "organisation", "owner"),
    actor("admin of A", a.tenant.callers.admin, "organisation", "admin"),
    actor("member of A", a.tenant.callers.member, "organisation", "member"),
    actor("viewer of A", a.tenant.callers.viewer, "organisation", "viewer"),
    actor("billing of A", a.tenant.callers.billing, "organisation", "billing"),
    actor("a console session in A", callers.session, "organisation", "admin"),
    actor("member of B", b.tenant.callers.member, "organisation", "member", b),
    actor("admin of B", b.tenant.callers.admin, "organisation", "admin", b),
    actor("the operator, acting in A", callers.operator, "operator", "operator"),
    actor("the agent of A's region", regions.r1.agent, "agent", "agent"),
    actor("the agent of B's region", regions.r2.agent, "agent", "agent", b),
  ];
}
