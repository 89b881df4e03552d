import { timingSafeEqual } from "node:crypto";
import { ApiError } from "../api-error.ts";
import type { Store } from "../store.ts";

const TOKEN_ID = /^([^\s:/]+)@([A-Za-z][A-Za-z0-9._-]+)!([A-Za-z][A-Za-z0-9._-]+)$/;

/** 401; the reason phrase is all that a caller learns. */
export function unauthenticated(reason: string): ApiError {
  return new ApiError(401, reason);
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * Takes `name` out of an Authorization (or Cookie) header: "NAME=value" or "NAME value"; the value ends at
 * a semicolon and is percent-decoded once.
 */
export function extractAuthValue(header: string | undefined, name: string): string | undefined {
  const value =
    header === undefined ? undefined : new RegExp(`(?:^|\\s)${name}(?:=| )([^;]*)`).exec(header)?.[1];
  return value?.replaceAll(/%([0-9a-fA-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/**
 * The caller of a request: "user@realm!token".
 *
 * Throws 401. Unknown user, disabled user, expired token and wrong secret read alike.
 */
export function authenticate(
  store: Store,
  headers: { readonly authorization?: string | undefined; readonly cookie?: string | undefined },
  nowSeconds: number,
): string {
  // A ticket wins over a token, and the lab issues no tickets: whatever is in the cookie is invalid.
  const ticket =
    extractAuthValue(headers.cookie, "PVEAuthCookie") ??
    extractAuthValue(headers.authorization, "PVEAuthCookie");
  if (ticket !== undefined && ticket !== "") throw unauthenticated("permission denied - invalid PVE ticket");
  const token = extractAuthValue(headers.authorization, "PVEAPIToken");
  if (token === undefined || token === "") throw unauthenticated("No ticket");
  const split = /^(.*)=(.*)$/s.exec(token);
  const tokenid = split?.[1] ?? "";
  const document = TOKEN_ID.test(tokenid) ? store.get("token", tokenid) : undefined;
  const user = document === undefined ? undefined : store.get("user", document.userid);
  const alive = (expire: number): boolean => expire === 0 || expire >= nowSeconds;
  const valid =
    document !== undefined &&
    user?.enable === true &&
    alive(user.expire) &&
    alive(document.expire) &&
    sameText(document.secret, split?.[2] ?? "");
  if (!valid) throw unauthenticated("Authentication failed!");
  return tokenid;
}
