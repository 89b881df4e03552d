/** What other products may use of the catalogue. */
export { viewPackage } from "./view.ts";
