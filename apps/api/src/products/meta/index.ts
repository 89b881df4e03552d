/** What other products may import of the API's description of itself. */
export { registerWorkerPresence } from "./metrics.ts";
export { mountMeta } from "./routes.ts";
