import { createPrivateKey, X509Certificate } from "node:crypto";

/** Why haproxy does not load this file of a crt-list: its own words in short; null when it does. */
export function certificateFault(pem: string | undefined): string | null {
  if (pem === undefined) return "No such file or directory";
  const first = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/.exec(pem)?.[0];
  if (first === undefined) return "No certificate found";
  const key = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+?-----END [A-Z ]*PRIVATE KEY-----/.exec(pem)?.[0];
  if (key === undefined) return "No Private Key found";
  try {
    if (!new X509Certificate(first).checkPrivateKey(createPrivateKey(key)))
      return "inconsistencies between private key and certificate loaded";
  } catch {
    return "unable to load certificate chain";
  }
  return null;
}
