import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";

/** Texts in place of a certificate and its key, which no page has. */
export const exampleMaterial = {
  certificate: "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n",
  private_key: "-----BEGIN PRIVATE KEY-----\nMIGH…\n-----END PRIVATE KEY-----\n",
};

/** The actions of the overview as calls. */
export function overviewCalls({ id, type }: Schemas["Certificate"]): readonly CalledOperation[] {
  const path = { certificate_id: id };
  return type === "managed"
    ? [
        { operation: "getCertificateChallenges", path },
        { operation: "renewCertificate", path },
      ]
    : [{ operation: "replaceCertificateMaterial", path, body: exampleMaterial }];
}
