import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

export interface Secrets {
  /** Password of the database role that the API runs under. */
  apiDatabasePassword: string;
  /** Key that seals the console's session cookies. */
  consoleSecret: string;
}

/** Reads the installation's own secrets, making them at the first start. */
export function loadSecrets(home: string): Secrets {
  const file = join(home, "secrets.json");
  const kept = readJsonFile<Secrets>(file);
  if (kept !== undefined) return kept;
  const made = {
    apiDatabasePassword: randomBytes(24).toString("hex"),
    consoleSecret: randomBytes(32).toString("hex"),
  };
  writePrivateFile(file, JSON.stringify(made, null, 2));
  return made;
}
