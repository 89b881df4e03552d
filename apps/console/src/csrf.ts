import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Name of the hidden field that carries the token. */
export const formTokenField = "form_token";

/**
 * A token for one rendered form, bound to the session by its form secret. It differs each time, so that the size of a
 * compressed page reveals nothing about it.
 */
export function mintFormToken(formSecret: string): string {
  const nonce = randomBytes(12).toString("base64url");
  return `${nonce}.${signature(formSecret, nonce)}`;
}

/** Whether the token was minted for this session. */
export function formTokenHolds(formSecret: string, token: unknown): boolean {
  if (typeof token !== "string" || token.length > 200) return false;
  const [nonce, signed, ...rest] = token.split(".");
  if (nonce === undefined || signed === undefined || rest.length > 0) return false;
  const expected = Buffer.from(signature(formSecret, nonce));
  const given = Buffer.from(signed);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function signature(formSecret: string, nonce: string): string {
  return createHmac("sha256", formSecret).update(`form ${nonce}`).digest("base64url");
}

/**
 * Whether a browser says that a page of this console sent the request. Browsers send `Sec-Fetch-Site` or at least
 * `Origin` with every form post; a request with neither does not come from a supported browser.
 *
 * @param host the request's Host header; the scheme is not compared, since TLS may end at a proxy
 */
export function isSameOrigin(
  headers: { readonly [name: string]: string | undefined },
  host: string,
): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin") return false;
  const origin = headers.origin;
  if (origin === undefined || origin === "null") return site === "same-origin";
  return URL.parse(origin)?.host === host;
}
