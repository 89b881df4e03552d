import type { Schemas } from "@kule/contract/schemas";

type Token = Pick<Schemas["Token"], "revoked_at" | "expires_at">;

const dayMs = 86_400_000;

/** How a token has ended; null while it is valid. */
export function endOf(token: Token, now: Date): "revoked" | "expired" | null {
  if (token.revoked_at !== null) return "revoked";
  return token.expires_at !== null && Date.parse(token.expires_at) <= now.getTime() ? "expired" : null;
}

/** Whether it has fewer than so many days left. */
export function expiresSoon({ expires_at }: Token, now: Date, days: number): boolean {
  return expires_at !== null && Date.parse(expires_at) - now.getTime() < days * dayMs;
}
