/** What other products and the lists of handlers may import of certificates. */
export type { CertificateHooks, CertificateUse } from "./hooks.ts";
export { type CertificateMaterial, lockCertificatesForUse, materialOf } from "./material-store.ts";
export { mountCertificates } from "./routes.ts";
