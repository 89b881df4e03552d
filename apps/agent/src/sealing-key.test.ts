import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sealSecret } from "@kule/sealed-secret/sealed-secret";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { existingSealingKey, loadSealingKey, StateUnusable } from "./sealing-key.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "kule-state-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe("The region's key pair", () => {
  it("is created once and opens what was sealed to it, also after a restart", () => {
    const state = join(directory, "agent", "state");
    const first = loadSealingKey(state);
    const sealed = sealSecret(first.publicKey, "correct horse", "srv_1");
    const again = loadSealingKey(state);
    expect(again.publicKey).toBe(first.publicKey);
    expect(again.open(sealed, "srv_1")).toBe("correct horse");
    expect(() => again.open(sealed, "srv_2")).toThrow();
    expect(readdirSync(state)).toEqual(["sealing-key"]);
  });

  it("is not created by a check for it", () => {
    expect(existingSealingKey(directory)).toBeNull();
    expect(readdirSync(directory)).toEqual([]);
  });

  it("is refused when others can read it", () => {
    loadSealingKey(directory);
    chmodSync(join(directory, "sealing-key"), 0o640);
    expect(() => loadSealingKey(directory)).toThrow(/others can read .*: chmod 600/);
  });

  it("is never replaced by itself when its file is damaged", () => {
    const path = join(directory, "sealing-key");
    writeFileSync(path, "damaged", { mode: 0o600 });
    expect(() => loadSealingKey(directory)).toThrow(StateUnusable);
    expect(() => loadSealingKey(directory)).toThrow(/Restore it from a backup/);
    expect(readFileSync(path, "utf8")).toBe("damaged");
  });

  it("says what to do when the folder cannot be used", () => {
    writeFileSync(join(directory, "file"), "");
    expect(() => loadSealingKey(join(directory, "file"))).toThrow(/cannot be used.*KULE_AGENT_STATE/);
  });
});
