import type { Schemas } from "@kule/contract/schemas";
import type { Caller } from "../../platform/caller.ts";
import { viewOrganisationRef } from "../organisations/index.ts";

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
