import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

export interface Secrets {
  /** Password of the database role that the API runs under. */
  apiDatabasePassword: string;
  /** Password of the database role of the worker's own. */
  workerDatabasePassword: string;
  /** Key that seals the console's session cookies. */
  consoleSecret: string;
  /** Key that encrypts what the API stores of people's second factors. */
  apiSecret: string;
  /** The console's key for signing its visitors' addresses. */
  consoleKey: string;
  /** The worker's key for sealing the audit trail. */
  auditKey: string;
  /** Key of the API of the lab's DNS. */
  dnsApiKey: string;
  /** Key of the API of the lab's registrar. */
  registrarKey: string;
  /** In base64; encrypts the key of the account at the lab's CA. */
  masterKey: string;
}

/** Reads the installation's own secrets, making them at the first start. */
export function loadSecrets(home: string): Secrets {
  const file = join(home, "secrets.json");
  const kept = readJsonFile<Partial<Secrets>>(file);
  const made = {
    apiDatabasePassword: randomBytes(24).toString("hex"),
    workerDatabasePassword: randomBytes(24).toString("hex"),
    consoleSecret: randomBytes(32).toString("hex"),
    apiSecret: randomBytes(32).toString("hex"),
    consoleKey: randomBytes(32).toString("hex"),
    auditKey: randomBytes(32).toString("hex"),
    dnsApiKey: randomBytes(24).toString("hex"),
    registrarKey: randomBytes(24).toString("hex"),
    masterKey: randomBytes(32).toString("base64"),
    // Secrets of an earlier start stay; an installation of an older version lacks some.
    ...kept,
  };
  if (kept !== undefined && Object.keys(kept).length === Object.keys(made).length) return made;
  writePrivateFile(file, JSON.stringify(made, null, 2));
  return made;
}
