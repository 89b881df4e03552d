import type { CollectionName, Collections } from "./documents.ts";
import { type Change, type Effect, type Journal, openJournal } from "./journal.ts";

type AnyDocument = Collections[CollectionName];

/** A replacement for one document; null removes it. */
export type DocumentChange = {
  [C in CollectionName]: readonly [collection: C, id: string, document: Collections[C] | null];
}[CollectionName];

/** All state of the lab. Reading is a look-up; every change goes through {@link Store.commit}. */
export interface Store {
  get<C extends CollectionName>(collection: C, id: string): Collections[C] | undefined;
  all<C extends CollectionName>(collection: C): Collections[C][];
  entries<C extends CollectionName>(collection: C): [id: string, document: Collections[C]][];
  /** Writes the effect and its documents to the journal, then makes them visible. Synchronous. */
  commit(effect: Effect, changes: readonly DocumentChange[]): void;
  /** Called after each commit that touched documents. */
  onCommit(listener: (changes: readonly DocumentChange[]) => void): void;
  readonly empty: boolean;
  close(): void;
}

/** Opens the store in `dataDir`, replaying what the journal holds. `nowMs` dates new entries. */
export function openStore(dataDir: string, nowMs: () => number): Store {
  return makeStore((apply) => openJournal(dataDir, apply), nowMs);
}

/**
 * A store in memory.
 *
 * @param documents its initial content, as {@link documentsOf} returns it
 * @param record is called with every effect, in the place of a journal
 */
export function memoryStore(
  nowMs: () => number,
  documents: readonly Change[] = [],
  record: (at: number, effect: Effect) => void = () => undefined,
): Store {
  const open = (apply: (change: Change) => void): Journal => {
    for (const change of documents) apply(change);
    return { append: record, big: false, compact: () => undefined, close: () => undefined };
  };
  return makeStore(open, nowMs);
}

/** Every document, to begin another store with. */
export function documentsOf(store: Store): Change[] {
  return COLLECTIONS.flatMap((name) =>
    store.entries(name).map(([id, document]): Change => [name, id, document]),
  );
}

const COLLECTIONS: readonly CollectionName[] = [
  "meta",
  "cluster",
  "node",
  "storage",
  "bridge",
  "vm",
  "volume",
  "pool",
  "task",
  "user",
  "token",
  "role",
  "acl",
  "firewall",
];

function makeStore(open: (apply: (change: Change) => void) => Journal, nowMs: () => number): Store {
  const collections = new Map<string, Map<string, AnyDocument>>();
  const collection = (name: string): Map<string, AnyDocument> => {
    let found = collections.get(name);
    if (found === undefined) {
      found = new Map();
      collections.set(name, found);
    }
    return found;
  };
  const apply = ([name, id, document]: Change): void => {
    if (document === null) collection(name).delete(id);
    else collection(name).set(id, document as AnyDocument);
  };
  const everything = (): Change[] =>
    [...collections].flatMap(([name, documents]) =>
      [...documents].map(([id, document]): Change => [name, id, document]),
    );
  const journal = open(apply);
  if (journal.big) journal.compact(everything);
  const listeners: ((changes: readonly DocumentChange[]) => void)[] = [];
  let closed = false;
  return {
    get: <C extends CollectionName>(name: C, id: string) =>
      collections.get(name)?.get(id) as Collections[C] | undefined,
    entries: <C extends CollectionName>(name: C) => [...collection(name)] as [string, Collections[C]][],
    all: <C extends CollectionName>(name: C) => [...collection(name).values()] as Collections[C][],
    commit: (effect, changes) => {
      // After stop() a task may still be unwinding; like a killed process, it changes nothing any more.
      if (closed) return;
      journal.append(nowMs(), effect, changes);
      for (const change of changes) apply(change);
      if (changes.length > 0) for (const listener of listeners) listener(changes);
      if (journal.big) journal.compact(everything);
    },
    onCommit: (listener) => listeners.push(listener),
    get empty() {
      return collections.size === 0;
    },
    close: () => {
      closed = true;
      journal.close();
    },
  };
}
