/** What other products may import of organisations. */
export { mountOrganisations } from "./routes.ts";
export {
  findOrganisation,
  findOrganisationBySlug,
  insertOrganisation,
  lockOrganisation,
  type OrganisationRow,
  unknownOrganisations,
  updateOrganisationRow,
} from "./store.ts";
export { viewOrganisationRef } from "./view.ts";
