import { expect, test } from "vitest";
import { endOf, isSoonOver } from "./token-end.ts";

const now = new Date("2026-11-22T10:00:00Z");
const token = (expires_at: string | null, revoked_at: string | null = null) => ({ expires_at, revoked_at });

test("a token ends by its time, or because somebody has taken it back", () => {
  expect(endOf(token(null), now)).toBeNull();
  expect(endOf(token("2026-11-22T10:00:01Z"), now)).toBeNull();
  expect(endOf(token("2026-11-22T10:00:00Z"), now)).toBe("expired");
  expect(endOf(token("2026-11-22T10:00:00Z", "2026-11-21T10:00:00Z"), now)).toBe("revoked");
});

test("one of three months is not soon over, one of thirteen days is, and one without an end never", () => {
  expect(isSoonOver(token("2027-02-19T10:00:00Z"), now, 14)).toBe(false);
  expect(isSoonOver(token("2026-12-06T10:00:00Z"), now, 14)).toBe(false);
  expect(isSoonOver(token("2026-12-05T10:00:00Z"), now, 14)).toBe(true);
  expect(isSoonOver(token(null), now, 14)).toBe(false);
});
