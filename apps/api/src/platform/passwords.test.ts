import { expect, test } from "vitest";
import { generatePassword, hashAs, hashPassword } from "./passwords.ts";

/** As Postgres stores them. */
const parametersOf = (hash: string) => hash.slice(0, hash.lastIndexOf("$"));

test("a password matches its hash, and another one does not", async () => {
  const hash = await hashPassword("correct horse");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(await hashAs("correct horse", parametersOf(hash))).toBe(hash);
  expect(await hashAs("correct horsf", parametersOf(hash))).not.toBe(hash);
  expect(await hashPassword("correct horse")).not.toBe(hash);
});

test("without parameters, and with damaged ones, a password is hashed as a new one", async () => {
  for (const parameters of [null, "$argon2id$v=19$m=1"]) {
    const hash = await hashAs("anything", parameters);
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await hashAs("anything", parameters)).not.toBe(hash);
  }
});

test("an argon2id string of another program is understood", async () => {
  // The reference implementation's test vector for t=2, m=65536, p=1, salt "somesalt".
  const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  expect(await hashAs("password", parametersOf(reference))).toBe(reference);
});

test("generated passwords are long, readable and never the same", () => {
  const passwords = new Set(Array.from({ length: 1_000 }, generatePassword));
  expect(passwords.size).toBe(1_000);
  for (const password of passwords) expect(password).toMatch(/^[a-km-zA-HJ-NP-Z2-9]{20}$/);
});
