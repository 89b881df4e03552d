import { dirname, resolve } from "node:path";
import { RegionFileError, type RegionFileFinding } from "@kule/region-config/region-file-error";
import { Secret } from "@kule/region-config/secret";
import { secretFromEnvironment, secretFromFile, textOf } from "@kule/region-config/secret-references";
import { type KeyPath, YamlSource } from "@kule/region-config/yaml-source";
import type { OidcRules } from "@kule/rules/identity/oidc";
import { type OrganisationRole, organisationRoles } from "@kule/rules/identity/permissions";

/** A provider that may vouch for people, as the operators have written it down. */
export type OidcProvider = OidcRules & {
  readonly id: string;
  readonly label: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Where somebody who is new belongs. Null: whoever is new has to be invited. */
  readonly signUp: { readonly organisation: string; readonly role: OrganisationRole } | null;
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file that KULE_OIDC_FILE names.
 *
 * @returns the providers, or what is wrong with the file, a line for each finding with its place and a fix
 */
export function readOidcFile(path: string, environment: Environment): readonly OidcProvider[] | string {
  const text = textOf(path);
  const nowhere = { line: null, column: null, key: "" };
  if ("message" in text) return report(path, [{ ...nowhere, message: text.message, fix: text.fix }]);
  const source = new YamlSource(text.value);
  if (source.findings.length > 0) return report(path, source.findings);
  const reading = new Reading(source, dirname(resolve(path)), environment);
  const providers = reading.providers(source.toValue());
  return reading.findings.length > 0 ? report(path, reading.findings) : providers;
}

const report = (path: string, findings: readonly RegionFileFinding[]) =>
  new RegionFileError(path, findings).message;

/** Nobody becomes an admin because a provider says that they exist. */
const signUpRoles = organisationRoles.filter((role) => role !== "owner" && role !== "admin");
const slug = /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/;
const domain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const known = [
  "id",
  "label",
  "issuer",
  "client_id",
  "client_secret_env",
  "client_secret_file",
  "email_domains",
  "sign_up",
  "second_factor",
];

type Section = Readonly<Record<string, unknown>>;

/** Collects what goes wrong instead of stopping at the first. */
class Reading {
  readonly findings: RegionFileFinding[] = [];
  readonly #source: YamlSource;
  readonly #folder: string;
  readonly #environment: Environment;

  constructor(source: YamlSource, folder: string, environment: Environment) {
    this.#source = source;
    this.#folder = folder;
    this.#environment = environment;
  }

  providers(document: unknown): OidcProvider[] {
    const top = this.#section(document, [], ["providers"]);
    const list = top.providers;
    if (!Array.isArray(list) || list.length === 0) {
      this.#find(["providers"], "must be a list of providers", "write one, or leave KULE_OIDC_FILE unset");
      return [];
    }
    const providers = list.map((each, index) => this.#provider(each, ["providers", String(index)]));
    for (const key of ["id", "issuer"] as const)
      providers.forEach((each, index) => {
        if (providers.findIndex((other) => other[key] === each[key]) < index)
          this.#find(["providers", String(index), key], "is another provider's already", `change the ${key}`);
      });
    return providers;
  }

  #provider(value: unknown, path: KeyPath): OidcProvider {
    const section = this.#section(value, path, known);
    const id = this.#text(section, path, "id", slug, "use small letters, digits and hyphens");
    return {
      id,
      label: this.#text(
        section,
        path,
        "label",
        /^\S.{0,59}$/,
        "write what people call it, 60 characters at most",
      ),
      issuer: this.#issuer(section, path),
      clientId: this.#text(section, path, "client_id", /^[\x21-\x7e]{1,500}$/, "copy it from the provider"),
      clientSecret: this.#secret(section, path),
      emailDomains: this.#list(section, path, "email_domains", domain, "write domains such as example.org"),
      signUp: this.#signUp(section, path),
      secondFactor: this.#secondFactor(section, path),
    };
  }

  #issuer(section: Section, path: KeyPath): string {
    const fix = "write the issuer as the provider does, such as https://id.example.org";
    const text = this.#text(section, path, "issuer", /^https?:\/\/\S+$/, fix);
    const url = URL.parse(text);
    if (text === "") return text;
    const at = [...path, "issuer"];
    if (url === null || url.search !== "" || url.hash !== "" || url.username !== "")
      this.#find(at, "is no issuer", fix);
    else if (url.protocol === "http:" && !loopback.test(url.hostname))
      this.#find(
        at,
        "would be asked over an unencrypted connection",
        "write https:// (http:// is for this machine only)",
      );
    return text;
  }

  #secret(section: Section, path: KeyPath): Secret {
    const { client_secret_env: variable, client_secret_file: file } = section;
    const nothing = new Secret("", "nowhere");
    if ((variable === undefined) === (file === undefined) || typeof (variable ?? file) !== "string") {
      this.#find(
        path,
        "exactly one of client_secret_env and client_secret_file is needed",
        "name an environment variable or a file that holds the secret; it is never written here",
      );
      return nothing;
    }
    const found =
      variable === undefined
        ? secretFromFile(String(file), this.#folder)
        : secretFromEnvironment(String(variable), this.#environment);
    if (!("message" in found)) return found.value;
    const key = variable === undefined ? "client_secret_file" : "client_secret_env";
    this.#find([...path, key], found.message, found.fix);
    return nothing;
  }

  #signUp(section: Section, path: KeyPath): OidcProvider["signUp"] {
    const value = section.sign_up;
    if (value === undefined || value === "invited") return null;
    const at = [...path, "sign_up"];
    const rule = this.#section(value, at, ["organisation", "role"]);
    const organisation = this.#text(rule, at, "organisation", slug, "write the organisation's slug");
    const role = signUpRoles.find((each) => each === rule.role);
    if (role === undefined)
      this.#find([...at, "role"], `must be ${signUpRoles.join(" or ")}`, "others are given by a person");
    if (section.email_domains === undefined)
      this.#find(
        at,
        "would let everybody in who has an account at the provider",
        "add email_domains, or let people be invited",
      );
    return { organisation, role: role ?? "viewer" };
  }

  #secondFactor(section: Section, path: KeyPath): OidcProvider["secondFactor"] {
    const value = section.second_factor;
    if (value === undefined) return null;
    const at = [...path, "second_factor"];
    const rule = this.#section(value, at, ["acr", "amr"]);
    const fix = "write what the provider says of a sign-in with a second factor";
    const [acr, amr] = [this.#list(rule, at, "acr", /^\S+$/, fix), this.#list(rule, at, "amr", /^\S+$/, fix)];
    if (acr === null && amr === null) this.#find(at, "names neither acr nor amr", fix);
    return { acr: acr ?? [], amr: amr ?? [] };
  }

  #section(value: unknown, path: KeyPath, keys: readonly string[]): Section {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#find(path, "must be a section with keys", `known here: ${keys.join(", ")}`);
      return {};
    }
    for (const key of Object.keys(value))
      if (!keys.includes(key))
        this.#find(
          [...path, key],
          "is not a key that is known here",
          key === "client_secret"
            ? "secrets are not written here: use client_secret_env or client_secret_file"
            : `known here: ${keys.join(", ")}`,
        );
    return value as Section;
  }

  #text(section: Section, path: KeyPath, key: string, shape: RegExp, fix: string): string {
    const value = section[key];
    if (typeof value === "string" && shape.test(value)) return value;
    this.#find([...path, key], value === undefined ? "is missing" : "is not written as it must be", fix);
    return "";
  }

  #list(section: Section, path: KeyPath, key: string, shape: RegExp, fix: string): string[] | null {
    const value = section[key];
    if (value === undefined) return null;
    if (Array.isArray(value) && value.length > 0 && value.every((each) => shape.test(String(each))))
      return value.map(String);
    this.#find([...path, key], "must be a list, and not an empty one", fix);
    return [];
  }

  #find(path: KeyPath, message: string, fix: string): void {
    this.findings.push({ ...this.#source.placeOfKey(path), key: path.join("."), message, fix });
  }
}
