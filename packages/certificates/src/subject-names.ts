import type { X509Certificate } from "node:crypto";

/**
 * The DNS names of a certificate in lower case, without repetitions; names of other kinds are left out. Each may be any text:
 * who signs certificates writes what he likes.
 */
export function dnsNamesOf(certificate: X509Certificate): readonly string[] {
  const names = new Set<string>();
  for (const entry of splitEntries(certificate.subjectAltName ?? ""))
    if (entry.startsWith("DNS:")) names.add(unquote(entry.slice("DNS:".length)).toLowerCase());
  return [...names];
}

/** Node separates the entries by ", " and writes one that has a comma, a quote or a control character as JSON text. */
function splitEntries(text: string): readonly string[] {
  return text.match(/[A-Za-z ]+:(?:"(?:[^"\\]|\\.)*"|[^,]*)/g)?.map((entry) => entry.trim()) ?? [];
}

function unquote(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
