import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailEnv } from "./mail-server.ts";
import { SettingsError } from "./settings.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-quickstart-mail-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function written(text: string): string {
  const path = join(folder, "mail.yaml");
  writeFileSync(path, text);
  return path;
}
const whole = "host: smtp.acme.example\nuser: kule\npassword_env: SMTP_PASSWORD\nfrom: kule@acme.example\n";

test("without a file nothing of the environment is passed on", () => {
  expect(mailEnv(undefined, { SMTP_PASSWORD: "swordfish" })).toEqual({ api: {}, worker: {} });
});

test("both get the file, and the worker alone the password that it names", () => {
  const path = written(whole);
  const env = { SMTP_PASSWORD: "swordfish", AWS_SECRET: "none of ours" };
  expect(mailEnv(path, env)).toEqual({
    api: { KULE_MAIL_FILE: path },
    worker: { SMTP_PASSWORD: "swordfish" },
  });
});

test("a file that is wrong ends the start with its name, line and a fix", () => {
  const read = (text: string) => () => mailEnv(written(text), {});
  expect(read(whole)).toThrow(SettingsError);
  expect(read(whole)).toThrow(
    /KULE_MAIL_FILE: .*mail\.yaml:3:15: password_env: the environment variable SMTP_PASSWORD is not set\n {4}fix: set/s,
  );
});
