import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** An effect, for people and tests. */
export interface Effect {
  readonly op: string;
  readonly node?: string;
  readonly vmid?: number;
  readonly upid?: string;
  readonly user?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Documents an effect replaced (null = removed): [collection, id, document]. */
export type Change = readonly [collection: string, id: string, document: unknown];

/** One line of the journal. */
export interface JournalEntry extends Effect {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** 1, 2, 3, ... over the whole lifetime of the data directory. */
  readonly seq: number;
  readonly set?: readonly Change[];
}

const ACTIVE = "journal.ndjson";
const SNAPSHOT = "snapshot.json";
const COMPACT_BYTES = 64 * 1024 * 1024;

export interface Snapshot {
  readonly seq: number;
  readonly documents: readonly Change[];
}

/** An append-only file of effects: written before an answer is sent, so a SIGKILL loses nothing answered. */
export interface Journal {
  append(at: number, effect: Effect, set: readonly Change[]): void;
  /** True when the active file has grown enough for {@link Journal.compact}. */
  readonly big: boolean;
  compact(documents: () => readonly Change[]): void;
  close(): void;
}

function journalFiles(dataDir: string): string[] {
  const old = readdirSync(dataDir).filter((name) => /^journal-\d+\.ndjson$/.test(name));
  const order = (name: string): number => Number(/\d+/.exec(name)?.[0] ?? 0);
  old.sort((a, b) => order(a) - order(b));
  return existsSync(join(dataDir, ACTIVE)) ? [...old, ACTIVE] : old;
}

/** Parses complete lines; a torn last line (killed while writing, hence never answered) is left out. */
function parseLines(text: string): { entries: JournalEntry[]; usedBytes: number } {
  const end = text.lastIndexOf("\n") + 1;
  const entries = text
    .slice(0, end)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as JournalEntry);
  return { entries, usedBytes: Buffer.byteLength(text.slice(0, end)) };
}

/**
 * Every effect that ever happened in `dataDir`, oldest first, without the documents. Reads the files, so
 * it works from another process and after a kill.
 */
export function readJournal(dataDir: string): JournalEntry[] {
  if (!existsSync(dataDir)) return [];
  return journalFiles(dataDir).flatMap((name) =>
    parseLines(readFileSync(join(dataDir, name), "utf8")).entries.map(({ set: _set, ...entry }) => entry),
  );
}

function readSnapshot(dataDir: string): Snapshot {
  const file = join(dataDir, SNAPSHOT);
  if (!existsSync(file)) return { seq: 0, documents: [] };
  return JSON.parse(readFileSync(file, "utf8")) as Snapshot;
}

/** Opens (or makes) the journal of `dataDir` and replays it into `apply`. */
export function openJournal(dataDir: string, apply: (change: Change) => void): Journal {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const snapshot = readSnapshot(dataDir);
  let seq = snapshot.seq;
  for (const change of snapshot.documents) apply(change);
  const active = join(dataDir, ACTIVE);
  // "r+" after making sure that it exists: "a" could not cut a torn line off.
  closeSync(openSync(active, "a", 0o600));
  for (const name of journalFiles(dataDir)) {
    // History that is completely in the snapshot is kept for people, not read.
    if (name !== ACTIVE && Number(/\d+/.exec(name)?.[0]) <= snapshot.seq) continue;
    const file = join(dataDir, name);
    const { entries, usedBytes } = parseLines(readFileSync(file, "utf8"));
    for (const entry of entries) {
      if (entry.seq <= snapshot.seq) continue;
      seq = entry.seq;
      for (const change of entry.set ?? []) apply(change);
    }
    if (name === ACTIVE && statSync(file).size > usedBytes) {
      const torn = openSync(file, "r+");
      ftruncateSync(torn, usedBytes);
      closeSync(torn);
    }
  }
  let fd = openSync(active, "a", 0o600);
  let size = statSync(active).size;
  return {
    append: (at, effect, set) => {
      seq += 1;
      const line = Buffer.from(
        `${JSON.stringify({ seq, at, ...effect, ...(set.length > 0 ? { set } : {}) })}\n`,
      );
      for (let written = 0; written < line.length; ) {
        written += writeSync(fd, line, written, line.length - written);
      }
      size += line.length;
    },
    get big() {
      return size > COMPACT_BYTES;
    },
    compact: (documents) => {
      const file = join(dataDir, SNAPSHOT);
      const next = openSync(`${file}.tmp`, "w", 0o600);
      writeSync(next, JSON.stringify({ seq, documents: documents() } satisfies Snapshot));
      fsyncSync(next);
      closeSync(next);
      // The snapshot first: lines it already holds are skipped at replay, so a kill in between is harmless.
      renameSync(`${file}.tmp`, file);
      closeSync(fd);
      // Old lines are kept unchanged: they are the ground truth of effects.
      renameSync(active, join(dataDir, `journal-${seq}.ndjson`));
      fd = openSync(active, "a", 0o600);
      size = 0;
    },
    close: () => closeSync(fd),
  };
}
