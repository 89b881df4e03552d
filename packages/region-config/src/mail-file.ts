import { dirname, resolve } from "node:path";
import schema from "../schema/mail.schema.json" with { type: "json" };
import { checkedDocument } from "./checked-document.ts";
import { validate } from "./generated/validate-mail.js";
import { Reading } from "./reading.ts";
import { RegionFileError } from "./region-file-error.ts";
import { schemaCheck } from "./schema-findings.ts";
import type { Secret } from "./secret.ts";
import { type Environment, textOf } from "./secret-references.ts";
import type { YamlSource } from "./yaml-source.ts";

type Security = "starttls" | "tls" | "none";

/** The SMTP server for an installation's mail, as configured by the operators. */
export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** How the connection is encrypted; `none` is for a server of the same machine only. */
  readonly security: Security;
  /** Kule's login at the server. Null: none. */
  readonly login: { readonly user: string; readonly password: Secret } | null;
  /** The certificate, in PEM, that signs the server's. Null: those that Node trusts. */
  readonly ca: string | null;
  readonly from: { readonly name: string; readonly address: string };
};

/** The file, once the schema has let it pass. */
type MailDocument = {
  readonly host: string;
  readonly port?: number;
  readonly security: Security;
  readonly user?: string;
  readonly password_env?: string;
  readonly password_file?: string;
  readonly ca_file?: string;
  readonly from: string;
  readonly from_name: string;
};

const check = schemaCheck({ schema, validate, guide: "docs/mail.md", name: "this file" });
const example = "docs/mail.example.yaml";
const usualPorts: Readonly<Record<Security, number>> = { starttls: 587, tls: 465, none: 25 };
const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Reads the file that KULE_MAIL_FILE names.
 *
 * @returns the server, or what is wrong with the file, a line for each finding with its place and a fix
 */
export function readMailFile(path: string, environment: Environment): MailServer | string {
  try {
    const { document, source } = checked(path);
    return serverOf(document, new Reading(source, dirname(resolve(path)), environment), path);
  } catch (error) {
    if (error instanceof RegionFileError) return error.message;
    throw error;
  }
}

/** The environment variables that hold the secrets of a file that can be read. */
export function secretVariablesOfMail(path: string): string[] {
  const { password_env: variable } = checked(path).document;
  return variable === undefined ? [] : [variable];
}

function checked(path: string): { readonly document: MailDocument; readonly source: YamlSource } {
  const text = textOf(path);
  if ("message" in text)
    throw new RegionFileError(path, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  const { document, source } = checkedDocument(text.value, path, check, example);
  return { document: document as MailDocument, source };
}

function serverOf(document: MailDocument, reading: Reading, path: string): MailServer {
  const { host, security } = document;
  if (security === "none" && !loopback.test(host))
    reading.find(
      ["security"],
      "would send links for passwords over an unencrypted connection",
      "write starttls or tls (none is for a server of this machine)",
    );
  const login = loginOf(document, reading);
  const ca = caOf(document, reading);
  reading.refuse(path);
  return {
    host,
    port: document.port ?? usualPorts[security],
    security,
    login,
    ca,
    from: { name: document.from_name, address: document.from },
  };
}

function loginOf(
  { user, password_env: variable, password_file: file }: MailDocument,
  reading: Reading,
): MailServer["login"] {
  const key = file === undefined ? "password_env" : "password_file";
  if (variable !== undefined && file !== undefined)
    reading.find(["password_file"], "is a second password", "keep password_env or password_file");
  if (user === undefined) {
    if (variable !== undefined || file !== undefined)
      reading.find([key], "is nobody's password", "add user, or remove it");
    return null;
  }
  if (variable === undefined && file === undefined) {
    reading.find(
      ["user"],
      "has no password",
      "add password_env with the name of an environment variable that holds it, or password_file with the path of a file",
    );
    return null;
  }
  const password = reading.referredSecret(
    [key],
    file === undefined ? { variable: variable ?? "" } : { file },
  );
  return password === null ? null : { user, password };
}

function caOf({ ca_file: file, security }: MailDocument, reading: Reading): string | null {
  if (file === undefined) return null;
  if (security === "none")
    reading.find(["ca_file"], "has no meaning without encryption", "write starttls or tls, or remove it");
  const text = textOf(reading.fullPath(file));
  if ("message" in text) {
    reading.find(["ca_file"], text.message, text.fix);
    return null;
  }
  if (!text.value.includes("-----BEGIN CERTIFICATE-----"))
    reading.find(["ca_file"], "holds no certificate", "write a file with a certificate in PEM");
  return text.value;
}
