import { readUploadedCertificate, type UploadReading } from "@kule/certificates/read-upload";
import type { UploadProblemCode, UploadWarning } from "@kule/certificates/upload-problem";
import type { FieldError } from "@kule/contract/field-errors";
import type { Schemas } from "@kule/contract/schemas";
import { sealSecret } from "@kule/sealed-secret/sealed-secret";
import { fieldError } from "../../platform/errors.ts";
import { type NewMaterial, sealingContext } from "./material-store.ts";

/** The three texts of an upload, as far as they are there. */
export type UploadTexts = {
  readonly certificate?: string | undefined;
  readonly chain?: string | undefined;
  readonly private_key?: string | undefined;
};

/** What is wrong with an upload whose fields are all there; the key is forgotten again. */
export function uploadErrors(texts: UploadTexts): FieldError[] {
  const { certificate, private_key } = texts;
  if (certificate === undefined || private_key === undefined) return [];
  const reading = read(certificate, texts.chain, private_key);
  if ("privateKey" in reading) {
    reading.privateKey.fill(0);
    return [];
  }
  return reading.problems.map(({ field, code, text }) =>
    fieldError(field, codes[code] ?? "invalid_format", text),
  );
}

/** The material of an upload that was checked, with its private key sealed to the agent. */
export function sealUpload(
  texts: UploadTexts,
  certificateId: string,
  version: number,
  agentKey: string,
): NewMaterial {
  const reading = read(texts.certificate ?? "", texts.chain, texts.private_key ?? "");
  if (!("privateKey" in reading))
    throw new Error(`uploadErrors let this pass: ${reading.problems.map(({ code }) => code).join(", ")}`);
  try {
    return {
      version,
      facts: reading.facts,
      sealedKey: sealSecret(
        agentKey,
        reading.privateKey.toString("latin1"),
        sealingContext(certificateId, version),
      ),
      sealedTo: agentKey,
      warnings: reading.warnings.map(viewWarning),
    };
  } finally {
    reading.privateKey.fill(0);
  }
}

function read(certificate: string, chain: string | undefined, privateKey: string): UploadReading {
  return readUploadedCertificate({ certificate, chain, privateKey });
}

function viewWarning({ field, code, text }: UploadWarning): Schemas["CertificateWarning"] {
  return { field: field === "/chain" ? "chain" : "certificate", code, message: text };
}

/** The API's code for what is wrong with an upload: most of it is about the form of a text. */
const codes: { readonly [code in UploadProblemCode]?: FieldError["code"] } = {
  too_large: "too_long",
  too_many_certificates: "too_long",
  too_many_names: "too_long",
  several_keys: "too_long",
  several_leaves: "too_long",
  expired: "out_of_range",
  not_yet_valid: "out_of_range",
  key_mismatch: "conflicts_with",
  chain_does_not_belong: "conflicts_with",
  chain_ambiguous: "conflicts_with",
};
