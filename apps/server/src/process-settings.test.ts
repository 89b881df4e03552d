import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readEntries } from "./configuration-file.ts";
import { processSettings } from "./process-settings.ts";
import type { Program } from "./programs.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-server-"));
  mkdirSync(join(folder, "secrets"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function secret(name: string, text: string, mode = 0o600): void {
  const file = join(folder, "secrets", name);
  writeFileSync(file, `${text}\n`);
  chmodSync(file, mode);
}

function settings(program: Program, text: string, environment: Record<string, string> = {}) {
  const path = join(folder, "server.env");
  return processSettings(program, { path, entries: readEntries(text, path) }, environment);
}

const whole = `KULE_DATABASE_URL=postgres://kule_api@db.internal:5432/kule
KULE_WORKER_DATABASE_URL=postgres://kule_worker@db.internal:5432/kule
KULE_OWNER_DATABASE_URL=postgres://postgres@db.internal:5432/kule
KULE_API_DATABASE_PASSWORD_FILE=secrets/api-database-password
KULE_WORKER_DATABASE_PASSWORD_FILE=secrets/worker-database-password
KULE_OWNER_DATABASE_PASSWORD_FILE=secrets/owner-database-password
KULE_API_SECRET_FILE=secrets/api-secret
KULE_CONSOLE_KEY_FILE=secrets/console-key
KULE_CONSOLE_SECRET_FILE=secrets/console-secret
KULE_AUDIT_KEYS_FILE=secrets/audit-keys
KULE_API_PORT=8080
KULE_API_URL=http://127.0.0.1:8080/api/v1
KULE_PUBLIC_URL=https://kule.example/api/v1
`;
const names = ["api-database-password", "worker-database-password", "owner-database-password", "api-secret"];
const more = ["console-key", "console-secret", "audit-keys"];
const putAll = () => {
  for (const name of [...names, ...more]) secret(name, `the-${name}`);
};

describe("each program is started", () => {
  test.each([
    ["api", ["KULE_API_PORT", "KULE_API_SECRET", "KULE_CONSOLE_KEY", "KULE_DATABASE_URL", "KULE_PUBLIC_URL"]],
    [
      "worker",
      [
        "KULE_API_SECRET",
        "KULE_AUDIT_KEYS",
        "KULE_DATABASE_URL",
        "KULE_PUBLIC_URL",
        "KULE_WORKER_DATABASE_URL",
      ],
    ],
    ["console", ["KULE_API_URL", "KULE_CONSOLE_KEY", "KULE_CONSOLE_SECRET", "KULE_PUBLIC_URL"]],
    ["migrate", ["KULE_API_DATABASE_PASSWORD", "KULE_OWNER_DATABASE_URL", "KULE_WORKER_DATABASE_PASSWORD"]],
    ["seed", ["KULE_OWNER_DATABASE_URL"]],
  ] as const)("%s: with what it reads, and with no other secret", (program, expected) => {
    putAll();
    const { set, unset } = settings(program, whole);
    expect(Object.keys(set).sort()).toEqual(expected);
    for (const name of ["KULE_OWNER_DATABASE_PASSWORD", "KULE_API_SECRET_FILE"])
      expect(unset).toContain(name);
    // What the environment has by mistake does not stay there.
    expect(unset.filter((name) => name in set)).toEqual([]);
    if (program === "api") expect(unset).toContain("KULE_OWNER_DATABASE_URL");
  });

  test("without reading the others' secrets, which its user need not be able to", () => {
    secret("console-key", "the-console-key");
    secret("console-secret", "the-console-secret");
    expect(settings("console", whole).set).toMatchObject({ KULE_CONSOLE_SECRET: "the-console-secret" });
  });
});

test("a URL without a password gets that of its role, whatever characters it has", () => {
  putAll();
  secret("api-database-password", "p@ss/w%41rd:?#");
  const { set } = settings("api", whole);
  const url = new URL(set.KULE_DATABASE_URL ?? "");
  expect([url.username, decodeURIComponent(url.password), url.host]).toEqual([
    "kule_api",
    "p@ss/w%41rd:?#",
    "db.internal:5432",
  ]);
  expect(set.KULE_API_DATABASE_PASSWORD).toBeUndefined();
});

describe("the environment", () => {
  test("wins over the file", () => {
    putAll();
    const environment = { KULE_API_PORT: "9090", KULE_API_SECRET: "from the environment" };
    expect(settings("api", whole, environment).set).toMatchObject({
      KULE_API_PORT: "9090",
      KULE_API_SECRET: "from the environment",
    });
  });

  test("wins over the file with a file of its own too", () => {
    putAll();
    secret("other", "from another file");
    const environment = { KULE_API_SECRET_FILE: join(folder, "secrets/other") };
    expect(settings("api", whole, environment).set.KULE_API_SECRET).toBe("from another file");
  });

  test("that names a secret twice is refused", () => {
    const environment = { KULE_API_SECRET: "swordfish", KULE_API_SECRET_FILE: "/x" };
    expect(() => settings("api", "", environment)).toThrow(
      /KULE_API_SECRET and KULE_API_SECRET_FILE are both set/,
    );
    expect(() => settings("api", "", { KULE_API_SECRET_FILE: "/nowhere/x" })).toThrow(
      /KULE_API_SECRET_FILE: there is no file \/nowhere\/x\n {4}fix: /,
    );
  });

  test("alone is enough", () => {
    const { set } = processSettings("console", null, { KULE_API_URL: "http://api/api/v1" });
    expect(set).toEqual({ KULE_API_URL: "http://api/api/v1" });
  });
});

describe("a file with a secret", () => {
  test("that every account can read is refused with the line that names it", () => {
    putAll();
    secret("api-secret", "swordfish", 0o644);
    expect(() => settings("api", whole)).toThrow(
      /server\.env:7:1: KULE_API_SECRET_FILE: every account of this machine can use .*\n {4}fix: chmod o= /,
    );
  });

  test("is taken from the credentials of the unit where systemd put it there", () => {
    putAll();
    const credentials = join(folder, "credentials");
    mkdirSync(credentials);
    writeFileSync(join(credentials, "api-secret"), "from the unit's credentials", { mode: 0o440 });
    const { set } = settings("api", whole, { CREDENTIALS_DIRECTORY: credentials });
    expect(set.KULE_API_SECRET).toBe("from the unit's credentials");
    expect(set.KULE_CONSOLE_KEY).toBe("the-console-key");
  });
});

describe("the secrets of other files of operators", () => {
  const mail =
    "host: smtp.acme.example\nuser: kule\npassword_env: MY_SMTP_PASSWORD\nfrom: kule@acme.example\n";
  const text = "KULE_MAIL_FILE=mail.yaml\nMY_SMTP_PASSWORD_FILE=secrets/smtp\n";

  test("have the names that these files give them, and go to those that read them", () => {
    writeFileSync(join(folder, "mail.yaml"), mail);
    secret("smtp", "the-smtp-password");
    expect(settings("worker", text).set).toEqual({
      KULE_MAIL_FILE: join(folder, "mail.yaml"),
      MY_SMTP_PASSWORD: "the-smtp-password",
    });
    expect(settings("api", text).set).toEqual({ KULE_MAIL_FILE: join(folder, "mail.yaml") });
    expect(settings("console", text).set).toEqual({});
  });

  test("are unknown names without such a file", () => {
    expect(() => settings("worker", "MY_SMTP_PASSWORD_FILE=secrets/smtp\n")).toThrow(/is not a name/);
  });

  test("a file that is wrong ends the programs that read it, and no others", () => {
    writeFileSync(join(folder, "mail.yaml"), "hosts: x\n");
    expect(() => settings("worker", text)).toThrow(
      /mail\.yaml:1:1: hosts: .*\n {4}fix: did you mean host\?/s,
    );
    expect(settings("console", text).set).toEqual({});
  });
});
