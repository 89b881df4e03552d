import type { Schemas } from "@kule/contract/schemas";
import type { OrganisationRow } from "./store.ts";

export function viewOrganisation(row: OrganisationRow): Schemas["Organisation"] {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    status: row.status === "suspended" ? "suspended" : "active",
    limits: { servers: row.server_limit },
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewOrganisationRef(organisation: {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}): Schemas["OrganisationRef"] {
  return { id: organisation.id, slug: organisation.slug, name: organisation.name };
}
