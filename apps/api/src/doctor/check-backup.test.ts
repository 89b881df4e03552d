import { mkdirSync, mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { archiveFinding, baseBackupAge } from "./check-backup.ts";

const working = { mode: "on", timeout: 60, archived: 20, failed: null, failed_file: null };
const said = (archiver: Parameters<typeof archiveFinding>[0]) => {
  const { ok, severity, found } = archiveFinding(archiver);
  return `${ok ? "ok" : severity} ${found}`;
};

test("a log that is archived is in order, also after a failure that is over", () => {
  expect(said(working)).toBe("ok archived 20 s ago");
  expect(said({ ...working, failed: 500, failed_file: "00000001" })).toBe("ok archived 20 s ago");
});

test("one that cannot be archived fills the disk, so the installation is not ready", () => {
  const failing = { ...working, archived: 4_000, failed: 30, failed_file: "000000010000000000000007" };
  expect(said(failing)).toMatch(/^required 000000010000000000000007 could not be archived/);
  expect(said({ ...failing, archived: null })).toMatch(/^required/);
});

test("one that is off, never archived, or archived late is told", () => {
  expect(said({ ...working, mode: "off" })).toMatch(/^advised archive_mode is off/);
  expect(said({ ...working, archived: null })).toMatch(/^advised nothing was archived yet/);
  expect(said({ ...working, timeout: 0 })).toMatch(/archive_timeout is 0/);
  expect(said({ ...working, archived: 2_000 })).toMatch(/^advised the last file was archived 33 minutes ago/);
  expect(said({ ...working, timeout: 3_600, archived: 2_000 })).toMatch(/^ok/);
});

test("the newest base backup counts, and a machine without any says nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "kule-base-"));
  try {
    expect(baseBackupAge(Date.now(), join(folder, "none"))).toBe(null);
    expect(baseBackupAge(Date.now(), folder)).toBe(Number.POSITIVE_INFINITY);
    const now = Date.now();
    for (const [name, days] of [
      ["old", 20],
      ["new", 2],
    ] as const) {
      mkdirSync(join(folder, name));
      const at = new Date(now - days * 86_400_000);
      utimesSync(join(folder, name), at, at);
    }
    expect(Math.round((baseBackupAge(now, folder) ?? 0) / 86_400)).toBe(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
