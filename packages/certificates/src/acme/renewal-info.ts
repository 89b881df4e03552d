// When a CA wants a certificate renewed (ARI, RFC 9773).

import "reflect-metadata";
import { X509Certificate } from "node:crypto";
import { AuthorityKeyIdentifierExtension, X509Certificate as ParsedCertificate } from "@peculiar/x509";
import type { AcmeClient } from "./acme-client.ts";
import { boundedText } from "./acme-error.ts";
import { asObject, dateField, readObject, unusable } from "./answer-fields.ts";
import { retryAfter } from "./retry-after.ts";

export interface RenewalInfo {
  readonly windowStart: Date;
  readonly windowEnd: Date;
  /** A page of the CA that says why; at most 500 characters. */
  readonly explanationUrl: string | null;
  readonly lookAgainAt: Date;
}

const WHAT = "the renewal information";
/** RFC 9773 4.3.2 and 4.3.3: at least a minute, at most a day, and six hours where the CA says nothing. */
const LIMITS = { minSeconds: 60, maxSeconds: 86_400 };
const DEFAULT_SECONDS = 6 * 3_600;

/**
 * How ARI names a certificate: its issuer's key and its serial number.
 *
 * @param chainPem the certificate first
 * @returns null when the certificate does not name its issuer's key
 */
export function renewalIdentifier(chainPem: string): string | null {
  const { raw, serialNumber } = new X509Certificate(chainPem);
  const keyId = new ParsedCertificate(Uint8Array.from(raw)).getExtension(
    AuthorityKeyIdentifierExtension,
  )?.keyId;
  if (keyId === undefined) return null;
  // The bytes of the DER integer: one that begins with a set bit has a zero before it.
  const even = serialNumber.length % 2 === 0 ? serialNumber : `0${serialNumber}`;
  const serial = Buffer.from(/^[89A-F]/i.test(even) ? `00${even}` : even, "hex");
  return `${Buffer.from(keyId, "hex").toString("base64url")}.${serial.toString("base64url")}`;
}

/** @returns null when the CA has no ARI, or the certificate does not name its issuer's key */
export async function readRenewalInfo(
  client: AcmeClient,
  chainPem: string,
  signal?: AbortSignal,
): Promise<RenewalInfo | null> {
  const { renewalInfo } = await client.directory(signal);
  const identifier = renewalInfo === null ? null : renewalIdentifier(chainPem);
  if (identifier === null) return null;
  const answer = await client.get(`${renewalInfo}/${identifier}`, signal);
  const object = readObject(answer.text, WHAT);
  const window = asObject(object.suggestedWindow, `${WHAT}: suggestedWindow`);
  const windowStart = dateField(window, "start", WHAT);
  const windowEnd = dateField(window, "end", WHAT);
  if (windowStart === null || windowEnd === null || windowEnd <= windowStart)
    throw unusable(WHAT, "the window does not end after its start");
  const now = client.now();
  const { explanationURL } = object;
  return {
    windowStart,
    windowEnd,
    explanationUrl:
      typeof explanationURL === "string" && URL.canParse(explanationURL) ? boundedText(explanationURL) : null,
    lookAgainAt:
      retryAfter(answer.header("retry-after"), now, LIMITS) ??
      new Date(now.getTime() + DEFAULT_SECONDS * 1_000),
  };
}

/** The moment in the window that RFC 9773 4.2 has each client choose by chance. @param fraction 0 to 1 */
export function renewalTime(
  info: { readonly windowStart: Date; readonly windowEnd: Date },
  fraction: number,
): Date {
  const start = info.windowStart.getTime();
  return new Date(Math.round(start + (info.windowEnd.getTime() - start) * fraction));
}
