import pg from "pg";

/** One statement as the API sent it, with what Postgres answered. */
export type Recorded = {
  readonly text: string;
  readonly values: readonly unknown[];
  rows: readonly Record<string, unknown>[];
};

/**
 * Notes every statement that any pg client of this process sends while `work` runs.
 *
 * Used to compare a request with its own SQL: the floor replays exactly what the API sends, without our code.
 */
export async function recordStatements(work: () => Promise<void>): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const original = pg.Client.prototype.query;
  // biome-ignore lint/suspicious/noExplicitAny: pg's overloads cannot be restated
  pg.Client.prototype.query = function record(this: pg.Client, ...args: any[]): any {
    const config = typeof args[0] === "object" ? args[0] : { text: args[0], values: args[1] };
    const entry: Recorded = { text: String(config.text), values: [...(config.values ?? [])], rows: [] };
    const result = (original as (...all: unknown[]) => unknown).apply(this, args);
    if (result instanceof Promise) {
      recorded.push(entry);
      result.then(
        (answer) => {
          entry.rows = answer.rows ?? [];
        },
        () => {},
      );
    }
    return result;
  } as typeof original;
  try {
    await work();
  } finally {
    pg.Client.prototype.query = original;
  }
  return recorded;
}

const ID = /\b[a-z0-9]+_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g;

/**
 * Sends the recorded transaction again as if for a new request: its ids are new ones, and what Postgres chooses
 * this time (a VM number, an address) goes into the statements after it.
 */
export class Replay {
  readonly #statements: readonly Recorded[];
  readonly #own: ReadonlySet<string>;
  readonly #name: string;
  readonly #mac: string | undefined;
  #serial = 0;

  /** @param name the name that the recorded request gave; each replay takes another */
  constructor(statements: readonly Recorded[], name: string) {
    this.#statements = statements;
    this.#name = name;
    const answered = new Set<string>();
    const own = new Set<string>();
    for (const { values, rows } of statements) {
      for (const id of JSON.stringify(values).match(ID) ?? []) if (!answered.has(id)) own.add(id);
      for (const id of JSON.stringify(rows).match(ID) ?? []) answered.add(id);
    }
    // Rows that existed before the request were created elsewhere: only ids that first appear in an insert
    // are ours.
    const inserted = statements
      .filter(({ text }) => /^\s*insert/i.test(text))
      .map(({ values }) => JSON.stringify(values));
    const before = statements
      .filter(({ text }) => !/^\s*insert/i.test(text))
      .map(({ values }) => JSON.stringify(values));
    this.#own = new Set(
      [...own].filter(
        (id) => inserted.some((text) => text.includes(id)) && !isReference(id, statements, before),
      ),
    );
    this.#mac = JSON.stringify(statements.map(({ values }) => values)).match(
      /\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b/,
    )?.[0];
  }

  async send(client: pg.Client): Promise<void> {
    this.#serial += 1;
    const swap = new Map<string, string>([[this.#name, `${this.#name}-${this.#serial.toString(36)}`]]);
    for (const id of this.#own) swap.set(id, `${id.slice(0, id.indexOf("_") + 1)}${randomIdBody()}`);
    if (this.#mac !== undefined) swap.set(this.#mac, randomMac());
    for (const { text, values, rows } of this.#statements) {
      const named =
        values.length > 0
          ? { name: statementName(text), text, values: values.map((v) => swapped(v, swap)) }
          : text;
      const answer = await client.query(named as string);
      const before = rows[0];
      const now = answer.rows?.[0] as Record<string, unknown> | undefined;
      if (before === undefined || now === undefined) continue;
      for (const [column, was] of Object.entries(before)) {
        const is = now[column];
        const simple = (value: unknown) => typeof value === "number" || typeof value === "string";
        if (simple(was) && simple(is) && was !== is && String(was).length > 3)
          swap.set(String(was), String(is));
      }
    }
  }
}

function isReference(id: string, statements: readonly Recorded[], before: readonly string[]): boolean {
  const firstInsert = statements.findIndex(
    ({ text, values }) => /^\s*insert/i.test(text) && JSON.stringify(values).includes(id),
  );
  return statements
    .slice(0, firstInsert)
    .some(({ values }) => JSON.stringify(values).includes(id) && before.includes(JSON.stringify(values)));
}

function swapped(value: unknown, swap: ReadonlyMap<string, string>): unknown {
  if (typeof value === "number") return swap.has(String(value)) ? Number(swap.get(String(value))) : value;
  if (typeof value !== "string") return value;
  let text = value;
  for (const [was, is] of swap) if (text.includes(was)) text = text.replaceAll(was, is);
  return text;
}

const names = new Map<string, string>();
function statementName(text: string): string {
  const known = names.get(text) ?? `replay_${names.size}`;
  names.set(text, known);
  return known;
}

const hex = (digits: number) =>
  Array.from({ length: digits }, () => Math.floor(Math.random() * 16).toString(16)).join("");
const randomIdBody = () => `0${hex(25)}`;
const randomMac = () => `06:${(hex(10).match(/../g) ?? []).join(":")}`;
