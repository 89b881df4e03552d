// Which texts of users may come into a configuration. None of them has a blank, a line break, a quote, `#` or `\`, which
// have a meaning to haproxy outside of single quotes. The renderer and the grammar of its lines use the same ones.

import { maxCookieNameLength, maxExpectedCodesLength, maxHostLength, maxPathLength } from "./limits.ts";

const hostLabel = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";

/** As parts of a regular expression without anchors. */
export const allowed = {
  cookieName: `[A-Za-z0-9_-]{1,${maxCookieNameLength}}`,
  path: `/[A-Za-z0-9/._~%!$&()*+,;=:@?-]{0,${maxPathLength - 1}}`,
  host: `${hostLabel}(?:\\.${hostLabel})*`,
  expectedCodes: "[1-5][0-9]{2}(?:-[1-5][0-9]{2})?(?:,[1-5][0-9]{2}(?:-[1-5][0-9]{2})?)*",
  /** Of a certificate: canonical, a star as its first label only. */
  domainName: "(?:\\*\\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*",
  /** SHA-256 in base64url. */
  thumbprint: "[A-Za-z0-9_-]{43}",
  interfaceName: "[a-z][a-z0-9]{0,14}",
  /** What follows the prefix and `_`. */
  idPart: "[0-9a-z]{1,40}",
} as const;

const whole = (pattern: string) => new RegExp(`^(?:${pattern})$`);

const forms = {
  cookieName: whole(allowed.cookieName),
  path: whole(allowed.path),
  host: whole(allowed.host),
  expectedCodes: whole(allowed.expectedCodes),
  domainName: whole(allowed.domainName),
  thumbprint: whole(allowed.thumbprint),
  interfaceName: whole(allowed.interfaceName),
} as const;

export type AllowedText = keyof typeof forms;

const longest: { readonly [text in AllowedText]: number } = {
  cookieName: maxCookieNameLength,
  path: maxPathLength,
  host: maxHostLength,
  expectedCodes: maxExpectedCodesLength,
  domainName: 253,
  thumbprint: 43,
  interfaceName: 15,
};

export const isAllowed = (kind: AllowedText, text: string): boolean =>
  text.length <= longest[kind] && forms[kind].test(text);

const idForms = {
  lb: whole(`lb_${allowed.idPart}`),
  lsn: whole(`lsn_${allowed.idPart}`),
  tgt: whole(`tgt_${allowed.idPart}`),
  srv: whole(`srv_${allowed.idPart}`),
  cert: whole(`cert_${allowed.idPart}`),
} as const;

export const isIdOf = (prefix: keyof typeof idForms, text: string): boolean => idForms[prefix].test(text);
