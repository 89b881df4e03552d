import { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { shortName } from "./certificate-facts.ts";
import { isCertificateName, MAX_UPLOAD_NAMES } from "./certificate-name.ts";
import { keyTypeOf } from "./key-type.ts";
import { isIssuedBy } from "./order-chain.ts";
import { dnsNamesOf } from "./subject-names.ts";
import type { UploadField, UploadProblem, UploadProblemCode } from "./upload-problem.ts";

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const ANY_USAGE = "2.5.29.37.0";

/** What is wrong with the certificate that shall be served. */
export function leafProblems(leaf: X509Certificate, now: Date): readonly UploadProblem[] {
  const field = "/certificate";
  const names = dnsNamesOf(leaf);
  const wrongName = names.find((name) => !isCertificateName(name));
  const problems: UploadProblem[] = [];
  const add = (code: UploadProblemCode, text: string): void => void problems.push({ field, code, text });
  if (names.length === 0)
    add(
      "no_names",
      "The certificate has no DNS name among its subject alternative names, and browsers do not read the common name.",
    );
  if (names.length > MAX_UPLOAD_NAMES)
    add(
      "too_many_names",
      `The certificate has ${names.length} names; at most ${MAX_UPLOAD_NAMES} are taken.`,
    );
  if (wrongName !== undefined)
    add("invalid_name", `${JSON.stringify(wrongName.slice(0, 100))} in the certificate is not a DNS name.`);
  const usages = leaf.keyUsage;
  if (usages !== undefined && !usages.includes(SERVER_AUTH) && !usages.includes(ANY_USAGE))
    add(
      "not_for_servers",
      "The certificate's extended key usage does not name TLS servers. Have one issued that does.",
    );
  return [...problems, ...commonProblems(leaf, field, "The certificate", now)];
}

/** What is wrong with a certificate above the leaf. */
export function issuerProblems(
  issuer: X509Certificate,
  field: UploadField,
  now: Date,
): readonly UploadProblem[] {
  const what = `The certificate of ${JSON.stringify(shortName(issuer.subject))}`;
  // Nobody checks the signature of a root: it is known or not.
  return commonProblems(issuer, field, what, now).filter(
    ({ code }) => code !== "weak_signature" || !isIssuedBy(issuer, issuer),
  );
}

/** Whether who knows the usual roots can follow the chain to one of them, or it ends in a root of its own. */
export function isComplete(chain: readonly X509Certificate[]): boolean {
  const last = chain.at(-1);
  return last !== undefined && (isIssuedBy(last, last) || knownRoots().has(last.issuer));
}

function commonProblems(
  certificate: X509Certificate,
  field: UploadField,
  what: string,
  now: Date,
): readonly UploadProblem[] {
  const problems: UploadProblem[] = [];
  const type = keyTypeOf(certificate.publicKey);
  if (type.keyType === null)
    problems.push({ field, code: type.code, text: `The key of ${lowerFirst(what)} ${type.text}` });
  if (/md2|md4|md5|sha-?1(?!\d)/i.test(certificate.signatureAlgorithm ?? ""))
    problems.push({
      field,
      code: "weak_signature",
      text: `${what} is signed with ${certificate.signatureAlgorithm}, which browsers refuse. Have one issued with SHA-256.`,
    });
  if (certificate.validToDate <= now)
    problems.push({
      field,
      code: "expired",
      text: `${what} expired at ${certificate.validToDate.toISOString()}.`,
    });
  if (certificate.validFromDate > now)
    problems.push({
      field,
      code: "not_yet_valid",
      text: `${what} is valid from ${certificate.validFromDate.toISOString()} on only.`,
    });
  return problems;
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

let roots: ReadonlySet<string> | undefined;

/** Subjects of the roots that Node brings, which are Mozilla's. */
function knownRoots(): ReadonlySet<string> {
  roots ??= new Set(rootCertificates.map((pem) => new X509Certificate(pem).subject));
  return roots;
}
