import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BadSettings, readSettings } from "./settings.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-oidc-settings-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a wrong file, or one without a panel and a key, prevents the API's start", () => {
  const path = join(folder, "wrong.yaml");
  writeFileSync(path, "providers: []");
  const start = () => readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_OIDC_FILE: path });
  expect(start).toThrow(BadSettings);
  for (const text of [/KULE_CONSOLE_ORIGINS/, /KULE_API_SECRET/, /write one, or leave/])
    expect(start).toThrow(text);
  expect(() => readSettings({ KULE_DATABASE_URL: "postgres://x", KULE_OIDC_FILE: "/nowhere" })).toThrow(
    "there is no file /nowhere",
  );
});
