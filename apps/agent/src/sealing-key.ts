// The region's key pair. Passwords of Windows servers are sealed to its public half, which health reports
// contain; the private half never leaves this folder. Without it jobs that were already sealed to it cannot
// run, so it is created once and never replaced automatically.

import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { makeSealingKeyPair, openSecret, publicKeyOf } from "@kule/sealed-secret/sealed-secret";

const FILE_NAME = "sealing-key";

export type SealingKey = {
  /** X25519, 32 bytes in base64. */
  readonly publicKey: string;
  /** Throws CannotOpen. */
  open(sealed: string, context: string): string;
};

/** The agent's state folder or its content cannot be used. The message says what to do. */
export class StateUnusable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StateUnusable";
  }
}

/** Reads the key pair in the folder; creates both when they do not exist. Throws StateUnusable. */
export function loadSealingKey(directory: string): SealingKey {
  const path = join(directory, FILE_NAME);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (statSync(path, { throwIfNoEntry: false }) === undefined) makeKeyFile(directory, path);
    return readKeyFile(path);
  } catch (error) {
    if (error instanceof StateUnusable) throw error;
    throw new StateUnusable(
      `${directory} cannot be used: ${error instanceof Error ? error.message : String(error)}. Make it a folder that the agent's user may write, or set KULE_AGENT_STATE`,
      { cause: error },
    );
  }
}

/** The key in the folder without making one; null when there is none yet. Throws StateUnusable. */
export function existingSealingKey(directory: string): SealingKey | null {
  const path = join(directory, FILE_NAME);
  return statSync(path, { throwIfNoEntry: false }) === undefined ? null : readKeyFile(path);
}

function readKeyFile(path: string): SealingKey {
  if ((statSync(path).mode & 0o077) !== 0)
    throw new StateUnusable(`others can read ${path}: chmod 600 ${path}`);
  const privateKey = readFileSync(path, "utf8").trim();
  let publicKey: string;
  try {
    publicKey = publicKeyOf(privateKey);
  } catch (error) {
    throw new StateUnusable(
      `${path} holds no key. Restore it from a backup; if there is none, remove it, and the agent makes a new one (jobs sealed to the old one then fail)`,
      { cause: error },
    );
  }
  return { publicKey, open: (sealed, context) => openSecret(privateKey, sealed, context) };
}

/** Atomic, and never over one that another agent has created in the meantime. */
function makeKeyFile(directory: string, path: string): void {
  const draft = join(directory, `${FILE_NAME}.${process.pid}.new`);
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", 0o600);
  try {
    chmodSync(draft, 0o600);
    writeSync(file, `${makeSealingKeyPair().privateKey}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
