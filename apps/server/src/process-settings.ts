import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { RegionFileError, type RegionFileFinding } from "@kule/region-config/region-file-error";
import { type Environment, secretFromFile } from "@kule/region-config/secret-references";
import { checkEntries, type Entries } from "./configuration-file.ts";
import type { Program } from "./programs.ts";
import { referredVariables } from "./referred-variables.ts";
import { fileVariableOf, mayBeInFile, passwordsOfUrls, type Variable, variables } from "./variables.ts";

export type Configuration = { readonly path: string; readonly entries: Entries };

/** A variable of the environment that cannot be what it is set to. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}

/** A setting and where it comes from. */
type Found = { readonly value: string; readonly fromFile: string | null; readonly line: number | null };

/**
 * The settings that a program is started with: those of the environment, then those of the file, with the secrets that both
 * refer to.
 *
 * @param configuration null where everything is in the environment
 * @returns what is to be set, and the names of all that the program must not have
 * @throws RegionFileError for the file, EnvironmentError for the environment; both list all that is wrong
 */
export function processSettings(
  program: Program,
  configuration: Configuration | null,
  environment: Environment,
): { readonly set: Readonly<Record<string, string>>; readonly unset: readonly string[] } {
  const entries: Entries = configuration?.entries ?? new Map();
  const folder = configuration === null ? process.cwd() : dirname(resolve(configuration.path));
  const pathOf = (name: string) => {
    const value = environment[name] || entries.get(name)?.value;
    return value === undefined || value === "" ? null : resolve(folder, value);
  };
  const referred = referredVariables(program, pathOf);
  const known: Readonly<Record<string, Variable>> = { ...referred.variables, ...variables };
  if (configuration !== null) checkEntries(entries, known, configuration.path, referred.isComplete);

  const problems: string[] = [];
  const findings: RegionFileFinding[] = [];
  const values = new Map<string, string>();
  for (const [name, variable] of Object.entries(known)) {
    if (!variable.readBy.includes(program)) continue;
    const found = settingOf(name, variable, entries, environment, problems);
    if (found === null) continue;
    const { fromFile: file, line, value } = found;
    if (file === null) {
      values.set(name, variable.kind === "path" ? resolve(folder, value) : value);
      continue;
    }
    const place = placeOfSecret(file, environment.CREDENTIALS_DIRECTORY);
    const secret = secretFromFile(place, line === null ? process.cwd() : folder);
    if (!("message" in secret)) values.set(name, secret.value.reveal());
    else if (line === null)
      problems.push(`${fileVariableOf(name)}: ${secret.message}\n    fix: ${secret.fix}`);
    else
      findings.push({ line, column: 1, key: fileVariableOf(name), message: secret.message, fix: secret.fix });
  }
  if (problems.length > 0) throw new EnvironmentError(problems.join("\n"));
  if (findings.length > 0) throw RegionFileError.inOrder(configuration?.path ?? "", findings);

  addPasswords(program, values);
  const unset = Object.keys(known).flatMap((name) => [name, fileVariableOf(name)]);
  return { set: Object.fromEntries(values), unset: unset.filter((name) => !values.has(name)) };
}

function settingOf(
  name: string,
  variable: Variable,
  entries: Entries,
  environment: Environment,
  problems: string[],
): Found | null {
  const file = mayBeInFile(variable) ? fileVariableOf(name) : null;
  const value = environment[name];
  const path = file === null ? undefined : environment[file];
  if (value && path) problems.push(`${name} and ${file} are both set\n    fix: remove one of the two`);
  if (value) return { value, fromFile: null, line: null };
  if (path) return { value: "", fromFile: path, line: null };
  const entry = entries.get(name);
  if (entry?.value) return { value: entry.value, fromFile: null, line: entry.line };
  const reference = file === null ? undefined : entries.get(file);
  return reference?.value ? { value: "", fromFile: reference.value, line: reference.line } : null;
}

/** A unit's `LoadCredential=` puts the files of a service into a folder of its own: there it has the same name. */
function placeOfSecret(file: string, credentials: string | undefined): string {
  if (credentials === undefined || !isAbsolute(credentials)) return file;
  const place = join(credentials, basename(file));
  return existsSync(place) ? place : file;
}

/** Only what brings the tables about needs the passwords themselves. */
function addPasswords(program: Program, values: Map<string, string>): void {
  for (const [urlName, passwordName] of Object.entries(passwordsOfUrls)) {
    const url = URL.parse(values.get(urlName) ?? "");
    const password = values.get(passwordName);
    if (url !== null && url.password === "" && password !== undefined) {
      // The setter leaves a % as it is, which would be taken for the start of a code.
      url.password = encodeURIComponent(password);
      values.set(urlName, url.href);
    }
    if (program !== "migrate" || passwordName === "KULE_OWNER_DATABASE_PASSWORD") values.delete(passwordName);
  }
}
