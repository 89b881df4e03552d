import type { KeyObject, X509Certificate } from "node:crypto";
import { type CertificateFacts, certificateFacts, shortName } from "./certificate-facts.ts";
import { isComplete, issuerProblems, leafProblems } from "./check-certificates.ts";
import { orderChain } from "./order-chain.ts";
import { MAX_CERTIFICATES, readCertificates } from "./read-certificates.ts";
import { keyBelongsTo, readPrivateKey } from "./read-key.ts";
import type { UploadField, UploadProblem, UploadProblemCode, UploadWarning } from "./upload-problem.ts";

export interface CertificateUpload {
  /** PEM: the certificate, with or without its chain. */
  readonly certificate: string;
  /** PEM: what leads from it to a root. */
  readonly chain?: string | undefined;
  /** PEM without a password: PKCS #8, PKCS #1 or SEC 1. */
  readonly privateKey: string;
}

export type UploadReading =
  | {
      readonly problems: readonly [];
      readonly facts: CertificateFacts;
      readonly warnings: readonly UploadWarning[];
      /** PKCS #8 in PEM, for the caller to seal and then to overwrite with zeros. */
      readonly privateKey: Buffer;
    }
  /** At least one, those of every field; no part of the key is in them. */
  | { readonly problems: readonly [UploadProblem, ...UploadProblem[]] };

const KEY_CODES: ReadonlySet<UploadProblemCode> = new Set(["weak_key", "unsupported_key"]);

interface Placed {
  readonly certificate: X509Certificate;
  readonly field: UploadField;
}

/**
 * Reads what a user uploads. A chain in another order is put right; one that does not lead from the certificate upwards is
 * refused.
 *
 * @param now what "expired" is measured by
 */
export function readUploadedCertificate(upload: CertificateUpload, now = new Date()): UploadReading {
  const key = readPrivateKey(upload.privateKey);
  const keyProblems = "code" in key ? [key] : [];
  const placed = readFields(upload);
  if ("problems" in placed) return refused([...placed.problems, ...keyProblems]);
  const { leaf, others } = placed;

  const problems = [
    ...leafProblems(leaf, now),
    ...others.flatMap(({ certificate, field }) => issuerProblems(certificate, field, now)),
  ];
  // No signature is tried with a key that is refused: one of many thousand bits would take long.
  if (problems.some(({ code }) => KEY_CODES.has(code))) return refused([...problems, ...keyProblems]);
  const ordered = orderChain(
    leaf,
    others.map(({ certificate }) => certificate),
  );
  if (ordered.outcome !== "ordered") problems.push(chainProblem(ordered, others));
  if (!("code" in key) && !keyBelongsTo(key, leaf))
    problems.push({
      field: "/private_key",
      code: "key_mismatch",
      text: "The private key does not belong to the certificate. Give the key that the certificate was requested with.",
    });
  if (problems.length > 0 || keyProblems.length > 0 || ordered.outcome !== "ordered" || "code" in key)
    return refused([...problems, ...keyProblems]);

  const facts = certificateFacts(ordered.chain);
  // leafProblems refuses every key that has no facts.
  if (facts === null) throw new Error("a certificate without problems has no facts");
  return {
    problems: [],
    facts,
    warnings: warningsOf(ordered, upload),
    privateKey: exportKey(key),
  };
}

function readFields(
  upload: CertificateUpload,
): { leaf: X509Certificate; others: readonly Placed[] } | { problems: readonly UploadProblem[] } {
  const own = readCertificates(upload.certificate, "/certificate");
  const chain =
    upload.chain === undefined || upload.chain.trim() === "" ? [] : readCertificates(upload.chain, "/chain");
  const problems = [own, chain].flatMap((read) => ("code" in read ? [read] : []));
  if ("code" in own || "code" in chain) return { problems };

  const placed: Placed[] = [
    ...own.map((certificate) => ({ certificate, field: "/certificate" as const })),
    ...chain.map((certificate) => ({ certificate, field: "/chain" as const })),
  ];
  if (placed.length > MAX_CERTIFICATES)
    return {
      problems: [
        {
          field: "/chain",
          code: "too_many_certificates",
          text: `There are ${placed.length} certificates; at most ${MAX_CERTIFICATES} are taken.`,
        },
      ],
    };
  const leaves = placed.filter(({ certificate }) => !certificate.ca);
  const distinct = new Set(leaves.map(({ certificate }) => certificate.fingerprint256));
  if (distinct.size > 1)
    return {
      problems: [
        {
          field: leaves.find(({ field }) => field === "/chain")?.field ?? "/certificate",
          code: "several_leaves",
          text: "There is more than one certificate that is not of a CA. Upload each as a certificate of its own.",
        },
      ],
    };
  const leaf = leaves.find(({ field }) => field === "/certificate")?.certificate;
  if (leaf === undefined)
    return {
      problems: [
        {
          field: "/certificate",
          code: "is_ca",
          text:
            leaves.length > 0
              ? "This is the certificate of a CA, and yours is in chain. Exchange the two fields."
              : "This is the certificate of a CA, which browsers refuse for a server. Give the one that the CA issued; with openssl req -x509 add -addext basicConstraints=critical,CA:FALSE.",
        },
      ],
    };
  return { leaf, others: placed.filter(({ certificate }) => certificate.ca) };
}

function chainProblem(
  { outcome, place }: { readonly outcome: "does-not-belong" | "ambiguous"; readonly place: number },
  others: readonly Placed[],
): UploadProblem {
  const at = others[place];
  const name = JSON.stringify(shortName(at?.certificate.subject ?? ""));
  const field = at?.field ?? "/chain";
  return outcome === "ambiguous"
    ? {
        field,
        code: "chain_ambiguous",
        text: `More than one certificate could follow, among them the one of ${name}. Give one way to a root, each certificate followed by its issuer's.`,
      }
    : {
        field,
        code: "chain_does_not_belong",
        text: `The certificate of ${name} does not lead from yours to a root. Remove it, or give the one that signed yours.`,
      };
}

function warningsOf(
  { chain, reordered }: { readonly chain: readonly X509Certificate[]; readonly reordered: boolean },
  upload: CertificateUpload,
): readonly UploadWarning[] {
  const field = upload.chain === undefined || upload.chain.trim() === "" ? "/certificate" : "/chain";
  const warnings: UploadWarning[] = [];
  if (reordered)
    warnings.push({
      field,
      code: "chain_reordered",
      text: "The chain was given in another order; it is served in the right one.",
    });
  if (!isComplete(chain))
    warnings.push({
      field: "/chain",
      code: "chain_incomplete",
      text: `The chain ends before a known root: the certificate of ${JSON.stringify(shortName(chain.at(-1)?.issuer ?? ""))} is missing. Clients that do not know it will refuse the connection.`,
    });
  return warnings;
}

function exportKey(key: KeyObject): Buffer {
  return Buffer.from(key.export({ type: "pkcs8", format: "pem" }) as string);
}

function refused(problems: readonly UploadProblem[]): UploadReading {
  const [first, ...rest] = problems;
  if (first === undefined) throw new Error("an upload is refused without a problem");
  return { problems: [first, ...rest] };
}
