import { readOidcFile, secretVariablesOf } from "@kule/region-config/oidc-file";
import { SettingsError } from "./settings.ts";

/** The providers of sign-ins that the caller has written down, and what the API needs of the environment for them. */
export type SignInProviders = {
  readonly env: Readonly<Record<string, string>>;
  readonly providers: readonly { readonly id: string; readonly label: string }[];
};

/**
 * Reads the file before anything is started. Of the caller's environment it uses what the file names, and no
 * more.
 *
 * @throws SettingsError with each line of the file that is wrong, and what to do about it
 */
export function signInProviders(file: string | undefined, env: NodeJS.ProcessEnv): SignInProviders {
  if (file === undefined) return { env: {}, providers: [] };
  const providers = readOidcFile(file, env);
  if (typeof providers === "string") throw new SettingsError(`KULE_OIDC_FILE: ${providers}`);
  const secrets = secretVariablesOf(file).map((name) => [name, env[name] ?? ""]);
  return { env: { ...Object.fromEntries(secrets), KULE_OIDC_FILE: file }, providers };
}
