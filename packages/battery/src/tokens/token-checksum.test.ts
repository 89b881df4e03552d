import { mintToken, parseToken } from "@kule/api/platform/tokens";
import { seededGenerator } from "@kule/lab/runtime";
import { expect, test } from "vitest";
import { hasRightChecksum, randomTokenText, typosOf } from "./token-checksum.ts";

test("a minted token has the right checksum by both ways to work it out", () => {
  for (let round = 0; round < 100; round += 1) {
    const { secret } = mintToken("agent");
    expect(hasRightChecksum(secret)).toBe(true);
    expect(hasRightChecksum(`${secret.slice(0, -1)}~`)).toBe(false);
  }
});

test("random texts have a token's form, so that only the checksum can refuse them", () => {
  const random = seededGenerator(1);
  for (let round = 0; round < 100; round += 1) {
    const text = randomTokenText(random);
    expect(text).toMatch(/^kule_(pat|ops|agent|ses)_[0-7][0-9a-hjkmnp-tv-z]{25}_[0-9A-Za-z]{38}$/);
    expect(parseToken(text) === null).toBe(!hasRightChecksum(text));
  }
});

test("typos are all substitutions and swaps, and never the text itself", () => {
  const typos = typosOf("ab");
  for (const typo of ["xb", "a_", "ba", "a", "b", "aab", "AB"]) expect(typos).toContain(typo);
  expect(typos).not.toContain("ab");
});
