import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { Client } from "pg";
import { brokerVariable, type TemplateDatabase, withDatabase } from "./database-broker.ts";

export interface FreshDatabase {
  /** Connection string of the owner, who migrates and owns the tables. */
  ownerUrl: string;
  /** Connection string of `kule_api`, which is neither owner nor superuser. */
  apiUrl: string;
  /** Connection string of `kule_worker`. */
  workerUrl: string;
  name: string;
  /** Ends all connections to it and removes it. */
  drop(): Promise<void>;
}

let template: Promise<TemplateDatabase> | undefined;
/** Two methods of pg's clients that its types lack. */
type AdminClient = Client & { ref(): void; unref(): void };
let admin: Promise<AdminClient> | undefined;
let running = 0;

/** What the database of a run's Postgres is copied from; the first call starts it. */
function templateDatabase(): Promise<TemplateDatabase> {
  template ??= askBroker();
  return template;
}

/**
 * Clones the migrated template into a new database; call it once per test file and `drop` it afterwards. It is
 * a real Postgres, shared by the whole run and started by the first call.
 *
 * @param seeded a database of {@link seededTemplate} to clone instead
 * @throws Error outside a run that has a database broker (`vitest`, `npm run bench`).
 */
export async function freshDatabase(seeded?: SeededTemplate<unknown>): Promise<FreshDatabase> {
  const source = await templateDatabase();
  const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
  // As files: writing every block of the template to the log as well takes seven times the processor time.
  await administer(
    `create database ${name} template ${seeded?.database ?? source.template} strategy file_copy`,
  );
  const api = new URL(withDatabase(source.adminUrl, name));
  api.username = source.apiRole;
  api.password = source.apiPassword;
  const worker = new URL(api);
  worker.username = "kule_worker";
  worker.password = source.workerPassword;
  return {
    ownerUrl: withDatabase(source.adminUrl, name),
    apiUrl: api.href,
    workerUrl: worker.href,
    name,
    drop: () => drop(name),
  };
}

/**
 * What has just been closed may still be open for Postgres: it gets a second, since a client that is told of its end while
 * it ends throws where no test can catch it. What a test has forgotten is ended then.
 */
async function drop(name: string): Promise<void> {
  await administer(`do $$ begin
    for i in 1..100 loop
      exit when not exists (select from pg_stat_activity where datname = '${name}');
      perform pg_sleep(0.01);
      perform pg_stat_clear_snapshot();
    end loop;
  end $$`);
  await administer(`drop database if exists ${name} with (force)`);
}

/** A database that is seeded once in a run, for all of its processes to clone. */
export interface SeededTemplate<Facts> {
  readonly database: string;
  /** What the seeding has returned, as JSON keeps it: identifiers and secrets that are not in the database. */
  readonly facts: Facts;
}

/**
 * Seeds a template, unless a process of this run has done so: the others wait for it. The facts are kept as the
 * database's comment, which is not cloned with it.
 *
 * @param seed makes the database with `freshDatabase`, and has ended all connections to it when it returns
 */
export async function seededTemplate<Facts>(
  name: string,
  seed: () => Promise<{ readonly database: FreshDatabase; readonly facts: Facts }>,
): Promise<SeededTemplate<Facts>> {
  const source = await templateDatabase();
  const database = `${source.template}_${name}`;
  // A connection of its own: its lock is held until the seeding has ended.
  const client = new Client({ connectionString: source.adminUrl });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock(hashtextextended($1, 0))", [database]);
    const { rows } = await client.query<{ facts: string }>(
      "select shobj_description(oid, 'pg_database') as facts from pg_database where datname = $1",
      [database],
    );
    if (rows[0] !== undefined) return { database, facts: JSON.parse(rows[0].facts) as Facts };
    const seeded = await seed();
    const facts = JSON.stringify(seeded.facts);
    await client.query(`comment on database ${seeded.database.name} is ${client.escapeLiteral(facts)}`);
    // Last: the name says that the template is complete.
    await client.query(`alter database ${seeded.database.name} rename to ${database}`);
    return { database, facts: JSON.parse(facts) as Facts };
  } finally {
    await client.end();
  }
}

/** By one connection for all databases of this process, which it keeps alive only while a statement runs. */
async function administer(statement: string): Promise<void> {
  admin ??= connectAdmin();
  const client = await admin;
  running += 1;
  client.ref();
  try {
    await client.query(statement);
  } finally {
    running -= 1;
    if (running === 0) client.unref();
  }
}

async function connectAdmin(): Promise<AdminClient> {
  const { adminUrl } = await templateDatabase();
  const client = new Client({ connectionString: adminUrl }) as AdminClient;
  // Postgres stops before the processes that used it.
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function askBroker(): Promise<TemplateDatabase> {
  const path = process.env[brokerVariable];
  if (path === undefined) {
    throw new Error(
      `${brokerVariable} is not set: run this by vitest at the root, or call startDatabaseBroker first`,
    );
  }
  const answer = JSON.parse(await text(connect(path))) as { database: TemplateDatabase } | { error: string };
  if ("error" in answer) throw new Error(`the test database could not be prepared: ${answer.error}`);
  return answer.database;
}
