/** What other products may import of the catalogue. */
export { mountCatalog } from "./routes.ts";
export { viewPackage } from "./view.ts";
