import type { Schemas } from "@kule/contract/schemas";
import type { Caller, Organisation } from "../../platform/caller.ts";

export function viewOrganisationRef(organisation: Organisation): Schemas["OrganisationRef"] {
  return { id: organisation.id, slug: organisation.slug, name: organisation.name };
}

export function viewMe(caller: Caller): Schemas["Me"] {
  return {
    actor: caller.actor.type as Schemas["Me"]["actor"],
    user: caller.user,
    organisation: caller.organisation === null ? null : viewOrganisationRef(caller.organisation),
    role: caller.role,
    permissions: [...caller.permissions].sort(),
    region: caller.region,
    token: {
      id: caller.tokenId,
      name: caller.tokenName,
      scopes: [...caller.scopes],
      expires_at: caller.expiresAt?.toISOString() ?? null,
    },
  };
}
