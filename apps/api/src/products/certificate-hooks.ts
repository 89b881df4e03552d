import type { CertificateHooks } from "./certificates/index.ts";
import { loadBalancersOfCertificates } from "./load-balancers/index.ts";

/** The products that use certificates, in the order in which they are called. A plain list, as the job handlers. */
export const certificateHooks: readonly CertificateHooks[] = [loadBalancersOfCertificates];
