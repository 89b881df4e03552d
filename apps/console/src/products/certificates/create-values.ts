import type { RequestBody } from "@kule/contract/schemas";
import { typedLabels } from "../../label-form.ts";
import { typedList } from "../../posted-form.ts";

export const certificateTypes = ["uploaded", "managed"] as const;
export const challengeKinds = ["dns", "http"] as const;

/** The fields of the create form that are shown again after an error: all but the private key. */
export const createFields = [
  "name",
  "type",
  "region",
  "certificate",
  "chain",
  "domain_names",
  "challenge",
  "labels",
] as const;

export type CreateValues = Readonly<Record<(typeof createFields)[number], string>>;

/** The body of `POST /certificates`; fields of the other type are left out. */
export function createBody(values: CreateValues, privateKey: string): RequestBody<"createCertificate"> {
  const { name, type, region, challenge } = values;
  return {
    name,
    type: type as "uploaded",
    ...(region === "" ? {} : { region }),
    ...(type === "managed"
      ? {
          domain_names: typedList(values.domain_names),
          ...(challenge === "" ? {} : { challenge: challenge as "dns" }),
        }
      : materialBody(values, privateKey)),
    ...typedLabels(values.labels),
  };
}

/** A certificate and its key for a body; an empty chain is none. */
export function materialBody(
  { certificate, chain }: Pick<CreateValues, "certificate" | "chain">,
  privateKey: string,
): RequestBody<"replaceCertificateMaterial"> {
  return { certificate, ...(chain === "" ? {} : { chain }), private_key: privateKey };
}
