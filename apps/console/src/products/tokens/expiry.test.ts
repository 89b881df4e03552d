import { expect, test } from "vitest";
import { endOf, expiresSoon } from "./expiry.ts";

const now = new Date("2026-11-22T10:00:00Z");
const token = (expires_at: string | null, revoked_at: string | null = null) => ({ expires_at, revoked_at });

test("a token ends by expiry or by revocation", () => {
  expect(endOf(token(null), now)).toBeNull();
  expect(endOf(token("2026-11-22T10:00:01Z"), now)).toBeNull();
  expect(endOf(token("2026-11-22T10:00:00Z"), now)).toBe("expired");
  expect(endOf(token("2026-11-22T10:00:00Z", "2026-11-21T10:00:00Z"), now)).toBe("revoked");
});

test("a token with three months left does not expire soon, one with thirteen days does, and one without an expiry never", () => {
  expect(expiresSoon(token("2027-02-19T10:00:00Z"), now, 14)).toBe(false);
  expect(expiresSoon(token("2026-12-06T10:00:00Z"), now, 14)).toBe(false);
  expect(expiresSoon(token("2026-12-05T10:00:00Z"), now, 14)).toBe(true);
  expect(expiresSoon(token(null), now, 14)).toBe(false);
});
