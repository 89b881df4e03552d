/** What other products, the worker and the lists of handlers may import of certificates. */
export type { CertificateAuthority } from "./acme-account.ts";
export type { CertificateHooks, CertificateUse } from "./hooks.ts";
export { lookAfterCertificates } from "./look-after-certificates.ts";
export { type CertificateMaterial, lockCertificatesForUse, materialOf } from "./material-store.ts";
export { mountCertificates } from "./routes.ts";
export { certificateJobs } from "./settle.ts";
export { stepOrder } from "./step-order.ts";
export { usableCertificates } from "./usable-certificates.ts";
