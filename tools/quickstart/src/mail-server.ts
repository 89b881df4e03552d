import { readMailFile, secretVariablesOfMail } from "@kule/region-config/mail-file";
import { SettingsError } from "./settings.ts";

/** The API's and the worker's environment for sending mail; only the worker gets the password. */
export type MailEnv = {
  readonly api: Readonly<Record<string, string>>;
  readonly worker: Readonly<Record<string, string>>;
};

/**
 * Reads the file before anything is started. Of the caller's environment it uses what the file names, and no
 * more.
 *
 * @throws SettingsError with each line of the file that is wrong, and what to do about it
 */
export function mailEnv(file: string | undefined, env: NodeJS.ProcessEnv): MailEnv {
  if (file === undefined) return { api: {}, worker: {} };
  const server = readMailFile(file, env);
  if (typeof server === "string") throw new SettingsError(`KULE_MAIL_FILE: ${server}`);
  const secrets = secretVariablesOfMail(file).map((name) => [name, env[name] ?? ""]);
  return { api: { KULE_MAIL_FILE: file }, worker: Object.fromEntries(secrets) };
}
