/** What other products may import of the audit trail. */
export { mountAudit } from "./routes.ts";
