import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { certificates } from "./resource.ts";
import { certificateTones } from "./status.ts";

/** The header of a certificate: its status, whose keys it has, and where it can be used. */
export const headedCertificates: HeadedResource<Schemas["Certificate"]> = {
  resource: certificates,
  headOf: (view, certificate) => {
    const text = view.messages.certificates;
    return {
      status: <Status tone={certificateTones[certificate.status]}>{text.status[certificate.status]}</Status>,
      lead: `${text.types[certificate.type]} · ${certificate.region}`,
      calls: [{ operation: "getCertificate", path: { certificate_id: certificate.id } }],
    };
  },
};
