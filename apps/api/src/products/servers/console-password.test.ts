import { spawnSync } from "node:child_process";
import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import { requirePart } from "@kule/testing/parts";
import { describe, expect, test } from "vitest";
import { hashForLinux, makeConsolePassword, sealForWindows } from "./console-password.ts";

const openssl = await requirePart(
  "openssl",
  () =>
    spawnSync("openssl", ["version"]).error === undefined
      ? undefined
      : "openssl is not installed (Debian: apt-get install openssl)",
  import.meta.filename,
);

describe("a console password", () => {
  test("has 20 unambiguous characters, of each kind at least one", () => {
    for (let made = 0; made < 500; made += 1) {
      const password = makeConsolePassword();
      expect(password).toMatch(/^[A-HJ-NP-Za-km-np-z2-9]{20}$/);
      expect(password).toMatch(/[A-Z]/);
      expect(password).toMatch(/[a-z]/);
      expect(password).toMatch(/[2-9]/);
      expect(password).not.toMatch(/[0O1lIo]/);
    }
  });

  test("never repeats", () => {
    expect(new Set(Array.from({ length: 1000 }, makeConsolePassword)).size).toBe(1000);
  });

  test.skipIf(openssl.missing)("for Linux becomes the same hash as with OpenSSL", () => {
    const password = makeConsolePassword();
    const { password_hash, sealed_password } = hashForLinux(password);
    expect(sealed_password).toBeNull();
    expect(password_hash).toMatch(/^\$6\$rounds=1000\$[./0-9A-Za-z]{16}\$[./0-9A-Za-z]{86}$/);
    const salt = password_hash?.split("$").slice(2, 4).join("$") ?? "";
    const made = spawnSync("openssl", ["passwd", "-6", "-salt", salt, password], { encoding: "utf8" });
    expect(password_hash).toBe(made.stdout.trim());
  });

  test("for Windows can be read by the region's agent, and only as this server's", () => {
    const agent = makeSealingKeyPair();
    const { password_hash, sealed_password } = sealForWindows("Secret23", agent.publicKey, "srv_1");
    expect(password_hash).toBeNull();
    expect(openSecret(agent.privateKey, sealed_password ?? "", "srv_1")).toBe("Secret23");
    expect(() => openSecret(agent.privateKey, sealed_password ?? "", "srv_2")).toThrow();
  });
});
