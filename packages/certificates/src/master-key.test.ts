import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { decryptAccountKey, encryptAccountKey, makeAccountKey } from "./acme/account-key.ts";
import {
  CannotDecrypt,
  decryptSecret,
  encryptSecret,
  type MasterKeys,
  masterKeyIdOf,
  readMasterKeys,
} from "./master-key.ts";

const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")];
const secret = Buffer.from("secret of the tests");

function keysOf(value: string): MasterKeys {
  const keys = readMasterKeys({ KULE_MASTER_KEY: value });
  if (keys === null) throw new Error("no keys");
  return keys;
}

describe("A master key", () => {
  test("comes from the environment or from a file, and none is no error", () => {
    const directory = mkdtempSync(join(tmpdir(), "kule-master-key-"));
    try {
      const file = join(directory, "key");
      writeFileSync(file, `${first}\n`);
      expect(readMasterKeys({ KULE_MASTER_KEY_FILE: file })).toEqual(keysOf(first));
      expect(readMasterKeys({})).toBeNull();
      expect(() => readMasterKeys({ KULE_MASTER_KEY: first, KULE_MASTER_KEY_FILE: file })).toThrow(
        /both set/,
      );
      expect(() => readMasterKeys({ KULE_MASTER_KEY_FILE: `${file}.no` })).toThrow(/ENOENT/);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  test.each([
    ["nothing", ""],
    ["too short", randomBytes(31).toString("base64")],
    ["not base64", "ä".repeat(43)],
    ["in hexadecimal", randomBytes(32).toString("hex")],
    ["eleven keys", Array.from({ length: 11 }, () => randomBytes(32).toString("base64")).join(",")],
  ])("that is %s is refused with the setting's name and without its value", (_, value) => {
    let message = "";
    try {
      readMasterKeys({ KULE_MASTER_KEY: value });
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain("KULE_MASTER_KEY");
    if (value !== "") expect(message).not.toContain(value.slice(0, 12));
  });

  test("decrypts what it encrypted for the same context and no other", () => {
    const keys = keysOf(first);
    const encrypted = encryptSecret(keys, secret, "acme_account 1");
    expect(decryptSecret(keys, encrypted, "acme_account 1")).toEqual(secret);
    expect(() => decryptSecret(keys, encrypted, "acme_account 2")).toThrow(CannotDecrypt);
    expect(encryptSecret(keys, secret, "acme_account 1")).not.toBe(encrypted);
  });

  test("of before decrypts beside the present one, and each secret says which it is under", () => {
    const old = encryptSecret(keysOf(first), secret, "a");
    const both = keysOf(`${second} ${first}`);
    expect(decryptSecret(both, old, "a")).toEqual(secret);
    expect(masterKeyIdOf(old)).not.toBe(both.currentId);
    const renewed = encryptSecret(both, secret, "a");
    expect(masterKeyIdOf(renewed)).toBe(both.currentId);
    expect(decryptSecret(keysOf(second), renewed, "a")).toEqual(secret);
    expect(() => decryptSecret(keysOf(second), old, "a")).toThrow(
      expect.objectContaining({ reason: "unknown-key" }),
    );
  });

  test("decrypts nothing that was changed or is of another form", () => {
    const keys = keysOf(first);
    const encrypted = encryptSecret(keys, secret, "a");
    const head = encrypted.slice(0, encrypted.lastIndexOf(".") + 1);
    const bytes = Buffer.from(encrypted.slice(head.length), "base64url");
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => decryptSecret(keys, head + changed.toString("base64url"), "a"), `byte ${at}`).toThrow(
        CannotDecrypt,
      );
    }
    for (const text of ["", "v1", head, `${head}AAAA`, `${encrypted}.`, encrypted.replace("v1", "v2")])
      expect(() => decryptSecret(keys, text, "a"), text).toThrow(CannotDecrypt);
  });

  test("keeps the key of an account at a CA", () => {
    const keys = keysOf(first);
    const key = makeAccountKey();
    const encrypted = encryptAccountKey(keys, key, "account 1");
    expect(decryptAccountKey(keys, encrypted, "account 1").equals(key)).toBe(true);
    expect(() => decryptAccountKey(keys, encrypted, "account 2")).toThrow(CannotDecrypt);
  });
});
