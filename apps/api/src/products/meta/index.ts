/** What other products may import of the API's description of itself. */
export { mountMeta } from "./routes.ts";
