import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ssh2 from "ssh2";
import { afterAll, expect, test } from "vitest";
import { isReadable, keptKey } from "./kept-key.ts";

const folder = mkdtempSync(join(tmpdir(), "kule-kept-key-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the library makes one now and then. */
function unreadableKey(): string {
  for (;;) {
    const { private: key } = ssh2.utils.generateKeyPairSync("ed25519", {});
    if (!isReadable(key)) return key;
  }
}

test("a key is stored, and one that cannot be read is replaced", () => {
  const file = join(folder, "host_key");
  const first = keptKey(file);
  expect(keptKey(file)).toBe(first);
  writeFileSync(file, unreadableKey());
  const second = keptKey(file);
  expect(isReadable(second)).toBe(true);
  expect(readFileSync(file, "utf8")).toBe(second);
});

test("no key is generated that cannot be read", { timeout: 60_000 }, () => {
  for (let made = 0; made < 500; made += 1) {
    const file = join(folder, `key-${made}`);
    expect(isReadable(keptKey(file)), String(made)).toBe(true);
  }
});
