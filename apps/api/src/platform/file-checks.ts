import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";

/** A file and what its bytes must be. */
type WantedFile = { readonly path: string; readonly size_bytes: number; readonly sha256: string };

export type CheckedFile = {
  /** Why it is not the file that is wanted; null when it is. */
  readonly problem: string | null;
  /** The file that was looked at, so that another one in its place is noticed; null: there was none. */
  readonly identity: string | null;
};

type Entry = {
  readonly wanted: string;
  checked: CheckedFile | null;
  readonly ended: PromiseWithResolvers<void>;
};

const chunkBytes = 1024 * 1024;

/** Compares files with their SHA-256, each once, one after the other, beside everything else. */
export class FileChecks {
  readonly #entries = new Map<string, Entry>();
  readonly #queue: WantedFile[] = [];
  readonly #stopping = new AbortController();
  #working: Promise<void> | null = null;

  /** What is known of a file; null while it has not been looked at. */
  of(file: WantedFile): CheckedFile | null {
    const entry = this.#entries.get(file.path);
    return entry?.wanted === wantedOf(file) ? entry.checked : null;
  }

  /** Compares the file some time, unless it is the one that was compared, or that waits for it. */
  async begin(file: WantedFile): Promise<void> {
    const entry = this.#entries.get(file.path);
    if (entry?.wanted === wantedOf(file)) {
      if (entry.checked === null) return;
      const found = await stat(file.path).catch(() => null);
      if ((found === null ? null : identityOf(found)) === entry.checked.identity) return;
    }
    if (this.#stopping.signal.aborted) return;
    this.#entries.set(file.path, {
      wanted: wantedOf(file),
      checked: null,
      ended: Promise.withResolvers(),
    });
    this.#queue.push(file);
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Compares the file before the others that wait, and waits for that, but not longer than this. */
  async soon(file: WantedFile, longestMs: number): Promise<CheckedFile | null> {
    const entry = this.#entries.get(file.path);
    if (entry === undefined || entry.checked !== null) return this.of(file);
    const at = this.#queue.findIndex(({ path }) => path === file.path);
    if (at > 0) this.#queue.unshift(...this.#queue.splice(at, 1));
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, longestMs);
    await Promise.race([entry.ended.promise, late.promise]);
    clearTimeout(timer);
    return this.of(file);
  }

  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #work(): Promise<void> {
    for (;;) {
      const file = this.#queue.shift();
      if (file === undefined || this.#stopping.signal.aborted) return;
      const checked = await check(file, this.#stopping.signal);
      const entry = this.#entries.get(file.path);
      if (entry?.wanted !== wantedOf(file)) continue;
      entry.checked = checked;
      entry.ended.resolve();
    }
  }
}

const wantedOf = ({ size_bytes, sha256 }: WantedFile): string => `${size_bytes} ${sha256}`;

/** The file that a handle is of, in the state that it is in. */
export const identityOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mtimeMs, ctimeMs].join(" ");

async function check({ path, size_bytes, sha256 }: WantedFile, stopping: AbortSignal): Promise<CheckedFile> {
  let identity: string | null = null;
  const wrong = (problem: string): CheckedFile => ({ problem, identity });
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      identity = identityOf(found);
      if (!found.isFile()) return wrong("it is no file");
      if (found.size !== size_bytes)
        return wrong(`it has ${found.size} bytes, and ${size_bytes} by its manifest`);
      if ((await digestOf(file, size_bytes, stopping)) !== sha256)
        return wrong("its bytes are not those of its manifest");
      return identityOf(await file.stat()) === identity
        ? { problem: null, identity }
        : wrong("it changed while it was read");
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = String((error as { code?: unknown }).code ?? "unknown error");
    return wrong(code === "ENOENT" || code === "ENOTDIR" ? "it is missing" : `it cannot be read (${code})`);
  }
}

async function digestOf(file: FileHandle, size: number, stopping: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  const chunk = Buffer.alloc(Math.min(chunkBytes, size));
  for (let at = 0; at < size; ) {
    stopping.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, size - at), at);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest("hex");
}
