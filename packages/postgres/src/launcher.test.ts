import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type PostgresOptions, type RunningPostgres, removePostgresData, startPostgres } from "./launcher.ts";
import { identifyProcess, isStillRunning } from "./process-identity.ts";

const launcherUrl = new URL("./launcher.ts", import.meta.url).href;
const asRoot = process.getuid?.() === 0;
const fast = { fsync: "off" };

/** A directory that initdb has filled: most tests begin with a copy, which takes a tenth of the time. */
let filled: string;
let scratch: string;
let running: RunningPostgres[];

beforeAll(async () => {
  filled = mkdtempSync(join(tmpdir(), "kule-postgres-filled-"));
  chmodSync(filled, 0o755);
  const postgres = await startPostgres({ dataDir: join(filled, "data"), settings: fast, log: () => {} });
  await postgres.stop();
});

afterAll(() => rmSync(filled, { recursive: true, force: true }));

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "kule-postgres-"));
  // mkdtemp creates it with 0700; the account of Postgres must be able to enter it.
  chmodSync(scratch, 0o755);
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((postgres) => postgres.stop()));
  rmSync(scratch, { recursive: true, force: true });
});

/** Before the first start of a test, unless it is about initdb. */
function copyFilled(): void {
  execFileSync("cp", ["-a", join(filled, "data"), join(scratch, "data")]);
}

async function start(options: Partial<PostgresOptions> = {}): Promise<RunningPostgres> {
  const postgres = await startPostgres({
    dataDir: join(scratch, "data"),
    settings: fast,
    log: () => {},
    ...options,
  });
  running.push(postgres);
  return postgres;
}

async function query(url: string, sql: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

/** Runs the launcher in a process of its own, which can be killed; `ready` settles with the connection string. */
function spawnLauncher(identity: { uid?: number; gid?: number } = {}): {
  launcher: ChildProcess;
  ready: Promise<string>;
} {
  const script = `
    const { startPostgres } = await import(process.env.LAUNCHER_URL);
    const postgres = await startPostgres({ dataDir: process.env.DATA_DIR, settings: { fsync: "off" }, log: () => {} });
    console.log(postgres.ownerUrl);
    setInterval(() => {}, 1000);`;
  const launcher = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { PATH: process.env.PATH, LAUNCHER_URL: launcherUrl, DATA_DIR: join(scratch, "data") },
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
    ...identity,
  });
  const lines = createInterface({ input: launcher.stdout });
  const ready = Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    once(launcher, "exit").then(() => Promise.reject(new Error("the launcher ended"))),
  ]);
  return { launcher, ready };
}

async function startElsewhere(identity: { uid?: number; gid?: number } = {}) {
  const { launcher, ready } = spawnLauncher(identity);
  const ownerUrl = await ready;
  return { launcher, ownerUrl, postmasterPid: postmasterPid() };
}

function postmasterPid(): number {
  return Number(readFileSync(join(scratch, "data/pgdata/postmaster.pid"), "utf8").split("\n")[0]);
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

describe("a Postgres for try-outs and tests", () => {
  test("keeps its data, password and encoding over a stop and a start", async () => {
    const first = await start();
    await query(first.ownerUrl, "create table tower as select 'kule' as name");
    await first.stop();
    const second = await start();
    expect(await query(second.ownerUrl, "select name from tower")).toEqual([["kule"]]);
    expect(await query(second.ownerUrl, "show server_encoding")).toEqual([["UTF8"]]);
    expect(await query(second.ownerUrl, "show max_connections")).toEqual([["200"]]);
    expect(await query(second.ownerUrl, "create extension btree_gist")).toEqual([]);
    expect(new URL(second.ownerUrl).password).toBe(new URL(first.ownerUrl).password);
    expect(statSync(join(scratch, "data/pgdata/superuser-password")).mode & 0o777).toBe(0o600);
  });

  test("writes to the disk by default", async () => {
    copyFilled();
    const postgres = await start({ settings: {} });
    expect(await query(postgres.ownerUrl, "show fsync")).toEqual([["on"]]);
  });

  test("refuses a wrong password over TCP", async () => {
    copyFilled();
    const postgres = await start();
    const url = new URL(postgres.ownerUrl);
    url.password = "wrong";
    await expect(query(url.href, "select 1")).rejects.toThrow(/password authentication failed/);
  });

  test("listens on a unix socket alone when given a directory for it", async () => {
    copyFilled();
    const postgres = await start({ socketDir: join(scratch, "socket") });
    expect(await query(postgres.ownerUrl, "show listen_addresses")).toEqual([[""]]);
    expect(existsSync(join(scratch, "socket/.s.PGSQL.5432"))).toBe(true);
  });

  test("refuses a second start on the same directory while the first runs", async () => {
    copyFilled();
    await start();
    await expect(start()).rejects.toMatchObject({ code: "in_use" });
  });

  test("names the port that is taken", async () => {
    copyFilled();
    const first = await start();
    await expect(start({ dataDir: join(scratch, "other"), port: first.port })).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringContaining(`port ${first.port}`),
    });
  });

  test("refuses a directory of another major version and leaves it as it was", async () => {
    copyFilled();
    const postgres = await start();
    await postgres.stop();
    writeFileSync(join(scratch, "data/pgdata/PG_VERSION"), "17\n");
    await expect(start()).rejects.toMatchObject({
      code: "version_mismatch",
      message: expect.stringContaining("PostgreSQL 17"),
    });
    expect(readFileSync(join(scratch, "data/pgdata/PG_VERSION"), "utf8")).toBe("17\n");
  });

  test("reports an end that was not requested", async () => {
    copyFilled();
    const postgres = await start();
    process.kill(postmasterPid(), "SIGKILL");
    expect(await postgres.unexpectedEnd).toMatchObject({ message: expect.stringContaining("SIGKILL") });
  });
});

describe("after everything was killed", () => {
  test("a start begins again while the initdb of a killed one still writes", async () => {
    const { launcher, ready } = spawnLauncher();
    ready.catch(() => {});
    const drafts = () => globSync(join(scratch, "data/pgdata.new-*/base"));
    await expect.poll(drafts, { timeout: 10_000, interval: 2 }).toHaveLength(1);
    await kill(launcher);
    const postgres = await start();
    expect(await query(postgres.ownerUrl, "select 1")).toEqual([[1]]);
    await postgres.stop();
    // What could not be removed while that initdb was running is deleted at the next start.
    await start();
    await expect.poll(() => globSync(join(scratch, "data/pgdata.new-*")), { timeout: 10_000 }).toEqual([]);
  });

  test("the watchdog stops a Postgres whose launcher was killed", async () => {
    copyFilled();
    const { launcher, postmasterPid } = await startElsewhere();
    const postmaster = identifyProcess(postmasterPid);
    if (postmaster === undefined) throw new Error("no postmaster");
    await kill(launcher);
    await expect.poll(() => isStillRunning(postmaster), { timeout: 10_000, interval: 20 }).toBe(false);
  });

  test("a start ends the postmaster left over, keeps what was committed and takes its place", async () => {
    copyFilled();
    const { launcher, ownerUrl, postmasterPid } = await startElsewhere();
    await query(ownerUrl, "create table tower as select 1 as floor");
    // Without its watchdog, which is the launcher's other child, only the next start can end it.
    const children = readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, "utf8")
      .trim()
      .split(" ");
    const watchdogs = children.map(Number).filter((pid) => pid !== postmasterPid);
    expect(watchdogs).toHaveLength(1);
    for (const pid of watchdogs) process.kill(pid, "SIGKILL");
    await kill(launcher);
    const log: string[] = [];
    const next = await start({ log: (line) => log.push(line) });
    expect(log).toEqual([expect.stringContaining(`process ${postmasterPid}`)]);
    expect(await query(next.ownerUrl, "select floor from tower")).toEqual([[1]]);
    expect(identifyProcess(postmasterPid)).toBeUndefined();
  });

  test("a start ends the backends of a killed postmaster, which still use its memory", async () => {
    copyFilled();
    const { launcher, ownerUrl, postmasterPid } = await startElsewhere();
    await query(ownerUrl, "create table tower as select 1 as floor");
    const busy = new Client({ connectionString: ownerUrl });
    busy.on("error", () => {});
    await busy.connect();
    const { rows } = await busy.query<{ pid: number }>("select pg_backend_pid() as pid");
    const backend = rows[0]?.pid ?? 0;
    // Stopped, the backend does not notice the postmaster's death until the new start signals it.
    process.kill(backend, "SIGSTOP");
    process.kill(postmasterPid, "SIGKILL");
    await kill(launcher);
    // A signal is not the end yet: on a busy machine the start would still see the postmaster.
    await expect.poll(() => identifyProcess(postmasterPid), { interval: 10 }).toBeUndefined();
    const log: string[] = [];
    const starting = start({ log: (line) => log.push(line) });
    await expect.poll(() => log.length, { interval: 10 }).toBeGreaterThan(0);
    process.kill(backend, "SIGCONT");
    const next = await starting;
    expect(log[0]).toMatch(/backends of a Postgres that was killed/);
    expect(await query(next.ownerUrl, "select floor from tower")).toEqual([[1]]);
    await busy.end().catch(() => {});
  });

  test("a postmaster.pid that names an unrelated living process is stale, and that process is left alone", async () => {
    copyFilled();
    const postgres = await start();
    await postgres.stop();
    const { uid, gid } = statSync(join(scratch, "data/pgdata"));
    // The same user as Postgres: for any other user's process Postgres would find out by itself.
    const unrelated = spawn("sleep", ["600"], { stdio: "ignore", ...(asRoot && { uid, gid }) });
    await once(unrelated, "spawn");
    writeFileSync(join(scratch, "data/pgdata/postmaster.pid"), `${unrelated.pid}\n/elsewhere\n0\n5432\n\n\n`);
    const next = await start();
    expect(await query(next.ownerUrl, "select 1")).toEqual([[1]]);
    expect(identifyProcess(unrelated.pid ?? 0)).toBeDefined();
    await kill(unrelated);
  });
});

describe.runIf(asRoot)("for root", () => {
  test("Postgres runs under an account without privileges", async () => {
    copyFilled();
    await start();
    const status = readFileSync(`/proc/${postmasterPid()}/status`, "utf8");
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe("0");
    expect(/^Groups:\s*$/m.test(status)).toBe(true);
  });

  test("a directory that is closed to that account gets its data from /var/lib/kule", async () => {
    const closed = join(scratch, "closed");
    mkdirSync(closed, { mode: 0o700 });
    const log: string[] = [];
    const dataDir = join(closed, "data");
    const first = await start({ dataDir, log: (line) => log.push(line) });
    await query(first.ownerUrl, "create table tower as select 1 as floor");
    await first.stop();
    expect(log.join()).toMatch(/keeping the data of Postgres in \/var\/lib\/kule\//);
    const second = await start({ dataDir });
    expect(await query(second.ownerUrl, "select floor from tower")).toEqual([[1]]);
    await second.stop();
    removePostgresData(dataDir);
    expect(existsSync(dataDir)).toBe(false);
  });

  test("the launcher also works when an ordinary user runs it", async () => {
    mkdirSync(join(scratch, "data"));
    chownSync(join(scratch, "data"), 65534, 65534);
    const { launcher, ownerUrl } = await startElsewhere({ uid: 65534, gid: 65534 });
    expect(await query(ownerUrl, "select 1")).toEqual([[1]]);
    await kill(launcher);
  });
});
