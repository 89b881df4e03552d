import { X509Certificate } from "node:crypto";
import { type CertificateFacts, certificateFacts } from "../certificate-facts.ts";
import { orderChain } from "../order-chain.ts";
import { readCertificates } from "../read-certificates.ts";
import { readCertificateRequest } from "../read-request.ts";
import type { AcmeAccount } from "./account.ts";
import type { AcmeClient } from "./acme-client.ts";
import { AcmeRefused, AcmeUnusable } from "./acme-error.ts";
import { unusable } from "./answer-fields.ts";
import { sameNames } from "./order.ts";

const WHAT = "the certificate";
const MAX_CHAIN_BYTES = 64 * 1024;

/** Why a certificate is taken back (RFC 5280 5.3.1), as far as CAs take it from those who have the account. */
export const REVOCATION_REASONS = {
  unspecified: 0,
  keyCompromise: 1,
  superseded: 4,
  cessationOfOperation: 5,
};

/**
 * The certificate of an order that is `valid`. It is taken only when it is for the key and exactly the names of the request and
 * every certificate is signed by the next; what else a CA sends is an answer that cannot be used.
 *
 * @throws AcmeGone when the CA does not have it; AcmeUnusable for another certificate than the one that was asked for
 */
export async function downloadCertificate(
  client: AcmeClient,
  account: AcmeAccount,
  certificateUrl: string,
  csrDer: Uint8Array,
  signal?: AbortSignal,
): Promise<CertificateFacts> {
  const request = readCertificateRequest(csrDer);
  if (request === null) throw new TypeError("the certificate request is none");
  const answer = await client.post(account, {
    url: certificateUrl,
    payload: null,
    what: "certificate",
    accept: "application/pem-certificate-chain",
    maxAnswerBytes: MAX_CHAIN_BYTES,
    signal,
  });
  const certificates = readCertificates(answer.text, "/certificate");
  if ("code" in certificates) throw unusable(WHAT, certificates.text);
  const [leaf, ...others] = certificates;
  if (leaf === undefined || leaf.ca)
    throw new AcmeUnusable(WHAT, "the first of the chain is the certificate of a CA");
  if (!leaf.publicKey.export({ format: "der", type: "spki" }).equals(request.publicKeyDer))
    throw new AcmeUnusable(WHAT, "it is for another key");
  const ordered = orderChain(leaf, others);
  if (ordered.outcome !== "ordered") throw new AcmeUnusable(WHAT, "its chain does not belong together");
  const facts = certificateFacts(ordered.chain);
  if (facts === null) throw new AcmeUnusable(WHAT, "its key is none that browsers take");
  if (!sameNames(facts.names, request.names)) throw new AcmeUnusable(WHAT, "it is for other names");
  if (facts.notAfter <= client.now()) throw new AcmeUnusable(WHAT, "it has expired");
  return facts;
}

/**
 * Has a certificate of this account revoked. One that is revoked already is success.
 *
 * @param chainPem the certificate first
 * @throws AcmeRefused with `unsupported` when the CA revokes nothing
 */
export async function revokeCertificate(
  client: AcmeClient,
  account: AcmeAccount,
  chainPem: string,
  reason: keyof typeof REVOCATION_REASONS,
  signal?: AbortSignal,
): Promise<void> {
  const { revokeCert } = await client.directory(signal);
  if (revokeCert === null)
    throw new AcmeRefused(
      { type: "unsupported", detail: "the CA's directory offers no revocation", subproblems: [] },
      WHAT,
      0,
    );
  const certificate = new X509Certificate(chainPem).raw.toString("base64url");
  try {
    await client.post(account, {
      url: revokeCert,
      payload: { certificate, reason: REVOCATION_REASONS[reason] },
      signal,
    });
  } catch (error) {
    if (!(error instanceof AcmeRefused && error.problem.type === "alreadyRevoked")) throw error;
  }
}
