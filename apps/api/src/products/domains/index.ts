/** What other products may import of domains. */
export { mountDomains } from "./routes.ts";
