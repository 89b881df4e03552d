// What the agent leaves for the updater: a folder of the agent's user, in which root believes nothing.

import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { asEnvelope, type Envelope, readEnvelope } from "@kule/agent-release/envelope";
import { RELEASE_LIMITS } from "@kule/agent-release/release";
import { isVersion } from "@kule/agent-release/version";
import { BINARY_NAME, LAYOUT, UPDATE_FOLDER } from "../install/layout.ts";

export const REQUEST_FILE = "request.json";
export const KEYS_FILE = "keys.json";
export const manifestFile = (version: string): string => `${version}.manifest.json`;
export const downloadedFile = (version: string): string => `${BINARY_NAME}-${version}`;

export type UpdateRequest = { readonly format: 1; readonly id: string; readonly version: string };

const REQUEST_BYTES = 4096;
const KEYS_BYTES = RELEASE_LIMITS.envelopeBytes * RELEASE_LIMITS.keyEnvelopes;
const STATUS_BYTES = 1 << 20;

/** Null when it is none. */
export function asRequest(text: string): UpdateRequest | null {
  try {
    const { format, id, version } = JSON.parse(text) as Partial<UpdateRequest>;
    return format === 1 && typeof id === "string" && /^[\w-]{1,64}$/.test(id) && isVersion(version ?? "")
      ? { format, id, version: version as string }
      : null;
  } catch {
    return null;
  }
}

/** The envelopes of a list of successor keys; null when it is none. */
export function asKeyChain(value: unknown): readonly Envelope[] | null {
  const { envelopes } = (value ?? {}) as { envelopes?: unknown };
  if (!Array.isArray(envelopes) || envelopes.length > RELEASE_LIMITS.keyEnvelopes) return null;
  const chain = envelopes.map(asEnvelope);
  return chain.every((each) => !("problem" in each)) ? (chain as Envelope[]) : null;
}

/**
 * The agent's state folder as root reads it: no link is followed, nothing is waited for, and no more is read than what may be
 * there. Each file is opened relative to the folder that was opened, so that nobody can exchange that meanwhile.
 */
export class AgentFolder {
  readonly #state: number;
  readonly #update: number | null;

  private constructor(state: number, update: number | null) {
    this.#state = state;
    this.#update = update;
  }

  /** Null when there is none. */
  static open(root: string): AgentFolder | null {
    const state = openFolder(join(root, LAYOUT.state));
    if (state === null) return null;
    return new AgentFolder(state, openFolder(`/proc/self/fd/${state}/${UPDATE_FOLDER}`));
  }

  close(): void {
    closeSync(this.#state);
    if (this.#update !== null) closeSync(this.#update);
  }

  request(): UpdateRequest | null {
    const text = this.#read(this.#update, REQUEST_FILE, REQUEST_BYTES);
    return text === null ? null : asRequest(text);
  }

  manifest(version: string): Envelope | null {
    const text = this.#read(this.#update, manifestFile(version), RELEASE_LIMITS.envelopeBytes);
    const envelope = text === null ? null : readEnvelope(text);
    return envelope === null || "problem" in envelope ? null : envelope;
  }

  keyChain(): readonly Envelope[] | null {
    const text = this.#read(this.#update, KEYS_FILE, KEYS_BYTES);
    try {
      return text === null ? null : asKeyChain(JSON.parse(text));
    } catch {
      return null;
    }
  }

  /** Of status.json. */
  status(): string | null {
    return this.#read(this.#state, "status.json", STATUS_BYTES);
  }

  /** The downloaded binary, opened for reading; null when there is none. */
  openDownloaded(version: string): number | null {
    return this.#update === null ? null : openFile(this.#update, downloadedFile(version));
  }

  #read(folder: number | null, name: string, most: number): string | null {
    const file = folder === null ? null : openFile(folder, name);
    if (file === null) return null;
    try {
      const bytes = Buffer.alloc(most + 1);
      let length = 0;
      for (;;) {
        const read = readSync(file, bytes, length, bytes.length - length, null);
        length += read;
        if (read === 0) return bytes.toString("utf8", 0, length);
        if (length > most) return null;
      }
    } finally {
      closeSync(file);
    }
  }
}

const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;

function openFolder(path: string): number | null {
  return opened(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** Null when it is no regular file. */
function openFile(folder: number, name: string): number | null {
  // A pipe without a writer would be waited for.
  const file = opened(`/proc/self/fd/${folder}/${name}`, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (file === null || fstatSync(file).isFile()) return file;
  closeSync(file);
  return null;
}

/** A link, a missing file, another kind: whatever is not there as it should be counts as absent. */
function opened(path: string, flags: number): number | null {
  try {
    return openSync(path, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    if (["ENOENT", "ELOOP", "ENOTDIR", "EACCES", "ENXIO"].includes(String(code))) return null;
    throw error;
  }
}
