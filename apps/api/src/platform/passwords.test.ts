import { expect, test } from "vitest";
import { generatePassword, hashPassword, verifyPassword } from "./passwords.ts";

test("a password is known again, another one is not", async () => {
  const hash = await hashPassword("correct horse");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(await verifyPassword("correct horse", hash)).toBe(true);
  expect(await verifyPassword("correct horsf", hash)).toBe(false);
  expect(await hashPassword("correct horse")).not.toBe(hash);
});

test("without a hash, and with one that is damaged, no password is right", async () => {
  expect(await verifyPassword("anything", null)).toBe(false);
  expect(await verifyPassword("anything", "$argon2id$v=19$m=1")).toBe(false);
});

test("an argon2id string of another program is understood", async () => {
  // The reference implementation's test vector for t=2, m=65536, p=1, salt "somesalt".
  const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  expect(await verifyPassword("password", reference)).toBe(true);
});

test("generated passwords are long, readable and never the same", () => {
  const passwords = new Set(Array.from({ length: 1_000 }, generatePassword));
  expect(passwords.size).toBe(1_000);
  for (const password of passwords) expect(password).toMatch(/^[a-km-zA-HJ-NP-Z2-9]{20}$/);
});
