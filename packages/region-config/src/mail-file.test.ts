import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import schema from "../schema/mail.schema.json" with { type: "json" };
import { type MailServer, readMailFile, secretVariablesOfMail } from "./mail-file.ts";
import { textOf } from "./secret-references.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-mail-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const whole = `host: smtp.acme.example
security: starttls
user: kule
password_env: SMTP_PASSWORD
from: kule@acme.example
from_name: Acme Cloud
`;

function read(text: string, environment: Record<string, string> = { SMTP_PASSWORD: "swordfish" }) {
  const path = join(folder, "mail.yaml");
  writeFileSync(path, text);
  return readMailFile(path, environment);
}
const change = (from: string, to: string) => {
  expect(whole).toContain(from);
  return whole.replace(from, to);
};

describe("the file of the mail server", () => {
  test("has the server's address and user; the password is never printed", () => {
    const server = read(whole) as MailServer;
    expect(server).toMatchObject({
      host: "smtp.acme.example",
      port: 587,
      security: "starttls",
      login: { user: "kule" },
      ca: null,
      from: { name: "Acme Cloud", address: "kule@acme.example" },
    });
    expect(server.login?.password.reveal()).toBe("swordfish");
    expect(inspect(server) + JSON.stringify(server)).not.toContain("swordfish");
    expect(secretVariablesOfMail(join(folder, "mail.yaml"))).toEqual(["SMTP_PASSWORD"]);
  });

  test("is explained by an example that is right, and by a page that has every key", () => {
    const docs = join(import.meta.dirname, "../../../docs");
    const server = readMailFile(join(docs, "mail.example.yaml"), { KULE_SMTP_PASSWORD: "swordfish" });
    expect(server).toMatchObject({ host: "smtp.acme.example", login: { user: "kule" } });
    const page = textOf(join(docs, "mail.md"));
    const text = "value" in page ? page.value : "";
    const keys = [...text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([a-z_]+)`/g)].map(([, key]) => key),
    );
    expect(keys.toSorted()).toEqual(Object.keys(schema.properties).toSorted());
  });

  test("leaves out what a server of the same machine does not need", () => {
    expect(read("host: localhost\nsecurity: none\nfrom: kule@acme.example\n")).toEqual({
      host: "localhost",
      port: 25,
      security: "none",
      login: null,
      ca: null,
      from: { name: "Kule", address: "kule@acme.example" },
    });
  });

  test("takes the password from a file, and a certificate of one's own", () => {
    writeFileSync(join(folder, "smtp.secret"), "swordfish\n", { mode: 0o600 });
    const pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
    writeFileSync(join(folder, "ca.pem"), pem);
    const server = read(
      change("password_env: SMTP_PASSWORD", "password_file: smtp.secret\nca_file: ca.pem"),
    ) as MailServer;
    expect([server.login?.password.reveal(), server.ca]).toEqual(["swordfish", pem]);
  });

  test.each([
    ["host: smtp.acme.example\n", "", "1:1", "the key host is missing"],
    ["host: smtp.acme.example", "host: smtp://acme.example", "1:7", "host: is not written"],
    ["host:", "hosts:", "1:1", "did you mean host?"],
    ["starttls", "ssl", "2:11", "must be starttls or tls or none"],
    ["starttls", "none", "2:11", "over an unencrypted connection"],
    ["user: kule", "port: 70000\nuser: kule", "3:7", "port: must be <= 65535"],
    ["password_env: SMTP_PASSWORD", "password: swordfish", "4:1", "secrets are not written into this file"],
    ["password_env: SMTP_PASSWORD", "password_env: OTHER", "4:15", "OTHER is not set"],
    ["password_env: SMTP_PASSWORD\n", "", "3:7", "user: has no password"],
    ["user: kule\n", "", "3:15", "is nobody's password"],
    ["user: kule", "password_file: x\nuser: kule", "3:16", "is a second password"],
    ["user: kule", "ca_file: absent.pem\nuser: kule", "3:10", "there is no file"],
    ["from: kule@acme.example", "from: Kule <kule@acme.example>", "5:7", "from: is not written"],
    ["Acme Cloud", '"Acme\\nBcc: all@example.org"', "6:12", "from_name: is not written"],
  ])("%s as %s is refused with its place", (from, to, place, text) => {
    const found = read(change(from, to));
    expect(found).toContain(`mail.yaml:${place}: `);
    expect(found).toContain(text);
    expect(found).toContain("\n    fix: ");
    expect(found).not.toContain("swordfish");
  });

  test("one that is not there, or empty, is named", () => {
    expect(readMailFile("/nowhere/mail.yaml", {})).toContain("there is no file /nowhere/mail.yaml");
    expect(read("")).toContain("start from docs/mail.example.yaml");
  });
});
