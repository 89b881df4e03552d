/** A certificate of an ACME CA holds at most so many names; uploaded ones may hold more. */
export const MAX_REQUEST_NAMES = 100;
export const MAX_UPLOAD_NAMES = 250;

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** True for a name in lower case as certificates hold it: `example.com`, or `*.example.com` with the asterisk as first label. */
export function isCertificateName(name: string): boolean {
  if (name.length > 253) return false;
  const labels = (name.startsWith("*.") ? name.slice(2) : name).split(".");
  // A name of digits only would be an IPv4 address.
  return labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "");
}
