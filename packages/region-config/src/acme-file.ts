import { dirname, resolve } from "node:path";
import schema from "../schema/acme.schema.json" with { type: "json" };
import { checkedDocument } from "./checked-document.ts";
import { validate } from "./generated/validate-acme.js";
import { nothing, Reading } from "./reading.ts";
import { RegionFileError } from "./region-file-error.ts";
import { schemaCheck } from "./schema-findings.ts";
import type { Secret } from "./secret.ts";
import { type Environment, textOf } from "./secret-references.ts";
import type { YamlSource } from "./yaml-source.ts";

/** The CA that issues an installation's managed certificates, as far as every process may know it. */
export type AcmeFile = {
  readonly directoryUrl: string;
  readonly contactEmails: readonly string[];
  /** `any`: the CA may be in a network of the operators' own. */
  readonly network: "public" | "any";
  /** In PEM, what signs the certificate of the CA's own server. Null: those that Node trusts. */
  readonly rootsPem: string | null;
};

/** What binds the installation's account to one that the operators have at the CA. */
export type AcmeExternalAccount = { readonly keyId: string; readonly hmacKey: Secret };

/** The file, once the schema has let it pass. */
type AcmeDocument = {
  readonly directory: string;
  readonly contact_emails?: readonly string[];
  readonly external_account?: {
    readonly key_id: string;
    readonly hmac_key_env?: string;
    readonly hmac_key_file?: string;
  };
  readonly network: "public" | "any";
  readonly ca_file?: string;
};

const check = schemaCheck({ schema, validate, guide: "docs/acme.md", name: "this file" });
const example = "docs/acme.example.yaml";

/**
 * Reads the file that KULE_ACME_FILE names, without its secret.
 *
 * @returns the CA, or what is wrong with the file, a line for each finding with its place and a fix
 */
export function readAcmeFile(path: string): AcmeFile | string {
  return orFindings(() => {
    const { document, source } = checked(path);
    const reading = new Reading(source, dirname(resolve(path)), {});
    const rootsPem = rootsOf(document, reading);
    reading.refuse(path);
    const { directory: directoryUrl, contact_emails: contactEmails = [], network } = document;
    return { directoryUrl, contactEmails, network, rootsPem };
  });
}

/**
 * Reads the account of the same file that the operators have at the CA; null without one.
 *
 * @returns the account, or what is wrong with the file
 */
export function readAcmeExternalAccount(
  path: string,
  environment: Environment,
): AcmeExternalAccount | null | string {
  return orFindings(() => {
    const { document, source } = checked(path);
    const { external_account: account } = document;
    if (account === undefined) return null;
    const reading = new Reading(source, dirname(resolve(path)), environment);
    const { key_id: keyId, hmac_key_env: variable = "", hmac_key_file: file } = account;
    const hmacKey =
      file === undefined
        ? reading.referredSecret(["external_account", "hmac_key_env"], { variable })
        : reading.referredSecret(["external_account", "hmac_key_file"], { file });
    reading.refuse(path);
    return { keyId, hmacKey: hmacKey ?? nothing };
  });
}

/** The environment variables that hold the secrets of a file that can be read. */
export function secretVariablesOfAcme(path: string): string[] {
  const variable = checked(path).document.external_account?.hmac_key_env;
  return variable === undefined ? [] : [variable];
}

function orFindings<Value>(read: () => Value): Value | string {
  try {
    return read();
  } catch (error) {
    if (error instanceof RegionFileError) return error.message;
    throw error;
  }
}

function checked(path: string): { readonly document: AcmeDocument; readonly source: YamlSource } {
  const text = textOf(path);
  if ("message" in text)
    throw new RegionFileError(path, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  const { document, source } = checkedDocument(text.value, path, check, example);
  return { document: document as AcmeDocument, source };
}

function rootsOf({ ca_file: file }: AcmeDocument, reading: Reading): string | null {
  if (file === undefined) return null;
  const text = textOf(reading.fullPath(file));
  if ("message" in text) {
    reading.find(["ca_file"], text.message, text.fix);
    return null;
  }
  if (!text.value.includes("-----BEGIN CERTIFICATE-----"))
    reading.find(["ca_file"], "holds no certificate", "write a file with a certificate in PEM");
  return text.value;
}
