import { dirname, resolve } from "node:path";
import schema from "../schema/oidc.schema.json" with { type: "json" };
import { checkedDocument } from "./checked-document.ts";
import { validate } from "./generated/validate-oidc.js";
import { nothing, Reading } from "./reading.ts";
import { RegionFileError } from "./region-file-error.ts";
import { schemaCheck } from "./schema-findings.ts";
import type { Secret } from "./secret.ts";
import { type Environment, textOf } from "./secret-references.ts";
import type { KeyPath } from "./yaml-source.ts";

/** A provider alone never makes a person an admin. */
type SignUpRole = "billing" | "viewer" | "member";

/** A provider that may vouch for people, as the operators have written it down. */
export type OidcProvider = {
  readonly id: string;
  readonly label: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** In lower case; null allows every domain. */
  readonly emailDomains: readonly string[] | null;
  /** The claims that prove a second factor at the provider; null: it is never trusted with that. */
  readonly secondFactor: { readonly acr: readonly string[]; readonly amr: readonly string[] } | null;
  /** The organisation of new people. Null: a new person needs an invitation. */
  readonly signUp: { readonly organisation: string; readonly role: SignUpRole } | null;
};

/** A provider as the file has it, once the schema has let it pass. */
type ProviderDocument = {
  readonly id: string;
  readonly label: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret_env?: string;
  readonly client_secret_file?: string;
  readonly email_domains?: readonly string[];
  readonly sign_up?: "invited" | { readonly organisation: string; readonly role: SignUpRole };
  readonly second_factor?: {
    readonly acr?: readonly (string | number)[];
    readonly amr?: readonly (string | number)[];
  };
};

const check = schemaCheck({ schema, validate, guide: "docs/sign-in-providers.md", name: "this file" });
const example = "docs/oidc.example.yaml";

/**
 * Reads the file that KULE_OIDC_FILE names.
 *
 * @returns the providers, or what is wrong with the file, a line for each finding with its place and a fix
 */
export function readOidcFile(path: string, environment: Environment): readonly OidcProvider[] | string {
  try {
    return parsed(path, environment);
  } catch (error) {
    if (error instanceof RegionFileError) return error.message;
    throw error;
  }
}

function parsed(path: string, environment: Environment): OidcProvider[] {
  const text = textOf(path);
  if ("message" in text)
    throw new RegionFileError(path, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  const { document, source } = checkedDocument(text.value, path, check, example);
  const { providers } = document as { readonly providers: readonly ProviderDocument[] };
  const reading = new Reading(source, dirname(resolve(path)), environment);
  findTwins(providers, reading);
  const read = providers.map((each, index) => providerOf(each, ["providers", String(index)], reading));
  reading.refuse(path);
  return read;
}

/** The environment variables that hold the secrets of a file that can be read. */
export function secretVariablesOf(path: string): string[] {
  const text = textOf(path);
  if ("message" in text) return [];
  const { document } = checkedDocument(text.value, path, check, example);
  const { providers } = document as { readonly providers: readonly ProviderDocument[] };
  return providers.flatMap(({ client_secret_env: variable }) => variable ?? []);
}

function findTwins(providers: readonly ProviderDocument[], reading: Reading): void {
  for (const key of ["id", "issuer"] as const)
    providers.forEach((each, index) => {
      if (providers.findIndex((other) => other[key] === each[key]) < index)
        reading.find(["providers", String(index), key], "is another provider's already", `change the ${key}`);
    });
}

function providerOf(provider: ProviderDocument, path: KeyPath, reading: Reading): OidcProvider {
  const { id, label, issuer, client_id: clientId, email_domains: domains, second_factor: second } = provider;
  checkIssuer(issuer, [...path, "issuer"], reading);
  const signUp = provider.sign_up === "invited" ? undefined : provider.sign_up;
  if (signUp !== undefined && domains === undefined)
    reading.find(
      [...path, "sign_up"],
      "would let everybody in who has an account at the provider",
      "add email_domains, or let people be invited",
    );
  return {
    id,
    label,
    issuer,
    clientId,
    clientSecret: secretOf(provider, path, reading),
    emailDomains: domains ?? null,
    signUp: signUp ?? null,
    secondFactor:
      second === undefined
        ? null
        : { acr: (second.acr ?? []).map(String), amr: (second.amr ?? []).map(String) },
  };
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function checkIssuer(issuer: string, path: KeyPath, reading: Reading): void {
  const url = URL.parse(issuer);
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "")
    reading.find(
      path,
      "is no issuer",
      "write the issuer as the provider does, such as https://id.example.org",
    );
  else if (url.protocol === "http:" && !loopback.test(url.hostname))
    reading.find(
      path,
      "would be asked over an unencrypted connection",
      "write https:// (http:// is for this machine only)",
    );
}

function secretOf(
  { client_secret_env: variable, client_secret_file: file }: ProviderDocument,
  path: KeyPath,
  reading: Reading,
): Secret {
  const found =
    file === undefined
      ? reading.referredSecret([...path, "client_secret_env"], { variable: variable ?? "" })
      : reading.referredSecret([...path, "client_secret_file"], { file });
  return found ?? nothing;
}
