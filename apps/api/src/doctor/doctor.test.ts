import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { type DnsLab, startDnsLab } from "@kule/lab/dns/dns-lab";
import { startProcess } from "@kule/testing/child-process";
import { SoftMailServer } from "@kule/testing/mail/soft-mail-server";
import { PostgresCluster } from "@kule/testing/rig/postgres-cluster";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createApp } from "../app.ts";
import { seed } from "../commands/seed.ts";
import { openDatabase } from "../platform/database.ts";
import { createLog } from "../platform/log.ts";
import { type OpenDeps, openDeps } from "../platform/open-deps.ts";
import { readSettings } from "../platform/settings.ts";
import { ReleaseFolders } from "../testing/release-folders.ts";
import { diagnose, type Environment } from "./diagnose.ts";
import type { Finding } from "./finding.ts";

const gigabyte = 1024 ** 3;
const password = "the-password-of-the-mail-server";

/** A Postgres of our own: roles belong to all of its databases. */
let cluster: PostgresCluster;
let owner: Client;
let folder = "";
let mail: SoftMailServer;
let dns: DnsLab;
let api: { readonly open: OpenDeps; readonly server: Server };
let panel: Server;
/** What `kule-server doctor` gets where nothing is wrong. */
let environment: Record<string, string> = {};

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const full = { path: "/", totalBytes: 100 * gigabyte, freeBytes: 50 * gigabyte };

async function findings(
  changed: Environment = {},
  place: { now?: () => number; disks?: () => (typeof full)[]; baseBackupAge?: number | null } = {},
): Promise<Finding[]> {
  return diagnose({
    environment: { ...environment, ...changed },
    now: place.now ?? Date.now,
    disks: place.disks ?? (() => [full]),
    baseBackupAge: () => place.baseBackupAge ?? null,
  });
}

/** Everything that is not in order, a line each. */
async function troubles(...args: Parameters<typeof findings>): Promise<string[]> {
  return (await findings(...args))
    .filter(({ ok }) => !ok)
    .map(({ severity, check, found, fix }) => {
      expect(fix).not.toBe(null);
      return `${severity === "required" ? "WRONG" : "advice"} ${check}: ${found} | ${fix}`;
    });
}

async function archiveOnce(): Promise<void> {
  await owner.query("create table archived_once (); drop table archived_once; select pg_switch_wal()");
  for (let tries = 0; tries < 200; tries += 1) {
    const { rows } = await owner.query("select 1 from pg_stat_archiver where last_archived_time is not null");
    if (rows.length > 0) return;
    await owner.query("select pg_sleep(0.05)");
  }
  throw new Error("Postgres archives nothing");
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kule-doctor-"));
  // Its log is archived, to nowhere.
  cluster = await PostgresCluster.open({
    archive_mode: "on",
    archive_command: "/bin/true",
    archive_timeout: 60,
  });
  owner = new Client({ connectionString: cluster.database.ownerUrl });
  await owner.connect();
  await archiveOnce();
  const seeding = openDatabase({ url: cluster.database.ownerUrl, poolSize: 1, guardTenants: false });
  await seed(seeding.db, { organisation: "acme", region: "ist1" });
  await seeding.close();
  await owner.query(
    `insert into worker_process (id, seen_at) values ('wrk_1', clock_timestamp() + interval '1 day')`,
  );
  await owner.query(
    `update region set health_at = clock_timestamp() + interval '1 day', health_ok = true, agent_version = '0.1.0'`,
  );

  mail = await SoftMailServer.start({ login: { user: "kule", password } });
  writeFileSync(join(folder, "mail-ca.pem"), mail.ca);
  writeFileSync(
    join(folder, "mail.yaml"),
    `host: 127.0.0.1\nport: ${mail.port}\nuser: kule\npassword_env: SMTP_PASSWORD\nca_file: mail-ca.pem\nfrom: kule@acme.example\n`,
  );
  dns = await startDnsLab({ dataDir: join(folder, "dns"), apiKey: "the-key" });
  writeFileSync(
    join(folder, "dns.yaml"),
    `provider: { type: powerdns, url: "${dns.url}", api_key_env: DNS_KEY }\nname_servers: [{ name: "*.ns1.kule.example", addresses: [127.0.0.1] }, { name: "*.ns2.kule.example", addresses: [127.0.0.2] }]\n`,
  );
  panel = createServer((request, response) => {
    response.writeHead(request.url === "/healthz" ? 200 : 404).end();
  }).listen(0, "127.0.0.1");
  await once(panel, "listening");

  const settings = readSettings({ KULE_DATABASE_URL: cluster.database.apiUrl, KULE_LOG_LEVEL: "silent" });
  const open = await openDeps(settings, createLog("silent"));
  const server = serve({ fetch: createApp(open.deps).fetch, hostname: "127.0.0.1", port: 0 }) as Server;
  await once(server, "listening");
  api = { open, server };
  environment = {
    KULE_SERVER_CONFIGURATION: "/etc/kule/server.env",
    KULE_DATABASE_URL: cluster.database.apiUrl,
    KULE_WORKER_DATABASE_URL: cluster.database.workerUrl,
    KULE_PUBLIC_URL: `${urlOf(server)}/api/v1`,
    KULE_CONSOLE_PUBLIC_URL: urlOf(panel),
    KULE_CONSOLE_ORIGINS: urlOf(panel),
    KULE_CONSOLE_KEY: "a-key-of-the-tests-which-is-long-enough",
    KULE_API_URL: `${urlOf(server)}/api/v1`,
    KULE_MAIL_FILE: join(folder, "mail.yaml"),
    SMTP_PASSWORD: password,
    KULE_DNS_FILE: join(folder, "dns.yaml"),
    DNS_KEY: "the-key",
  };
});
afterAll(async () => {
  panel?.close();
  api?.server.close();
  await api?.open.close();
  await dns?.close();
  await mail?.goAway();
  await owner?.end();
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("an installation that is in order", () => {
  test("has nothing that doctor would change, and every part is named", async () => {
    const found = await findings();
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    expect(found.map(({ check }) => check)).toEqual([
      "configuration",
      "database",
      "migrations",
      "clock",
      "role of the API",
      "role of the worker",
      "row-level security",
      "worker",
      "operators",
      "region ist1",
      "backup: log",
      "DNS provider",
      "mail server",
      "certificate authority",
      "public URL",
      "panel",
      "agent releases",
      "disk /",
    ]);
    expect(JSON.stringify(found)).not.toContain(password);
  });

  test("is ready, as a table and as JSON, with status 0; without a worker it is not, with status 1", async () => {
    const run = async (...options: string[]) => {
      const env = { ...environment, KULE_WORKER_DATABASE_URL: cluster.database.workerUrl };
      const process = startProcess(
        "doctor",
        [join(import.meta.dirname, "../main.ts"), "doctor", ...options],
        env,
      );
      const { code } = await process.ended;
      return { code, output: process.output() };
    };
    const table = await run();
    expect(table.output).toMatch(/^ok {6}configuration {2,}\/etc\/kule\/server\.env$/m);
    expect(table.output).toMatch(/\n\nready: \d+ checks(, \d+ to think about)?\n$/);
    expect(table.code).toBe(0);
    await owner.query("update worker_process set seen_at = clock_timestamp() - interval '1 hour'");
    const json = await run("--json");
    await owner.query("update worker_process set seen_at = clock_timestamp() + interval '1 day'");
    expect(json.code).toBe(1);
    expect(JSON.parse(json.output)).toMatchObject({
      ready: false,
      findings: expect.arrayContaining([
        {
          check: "worker",
          ok: false,
          severity: "required",
          found: expect.any(String),
          fix: expect.any(String),
        },
      ]),
    });
  });
});

describe("the releases of the agent", () => {
  const folders = new ReleaseFolders();
  afterAll(() => folders.remove());
  const named = () => troubles({ KULE_AGENT_RELEASES: folders.path });

  test("are compared with their manifests, and what is wrong is named with its file", async () => {
    expect(await named()).toEqual([
      expect.stringMatching(/^advice agent releases: the folder has no release/),
    ]);
    folders.add("1.4.0");
    expect(await named()).toEqual([]);
    writeFileSync(folders.fileOf("1.4.0", "arm64"), "another");
    writeFileSync(join(folders.path, "notes.txt"), "");
    expect(await named()).toEqual([
      expect.stringMatching(/^WRONG agent releases: notes.txt: its name is no version \| put it there again/),
      expect.stringMatching(/^WRONG agent releases: the file of 1.4.0 for arm64: it has 7 bytes, and 100000/),
    ]);
  });

  test("of which the newest has expired are an advice, and a folder that is not there is wrong", async () => {
    folders.add("1.5.0", { expires_at: "2026-02-01T00:00:00Z" });
    expect(await named()).toContainEqual(
      expect.stringMatching(
        /^advice agent releases: the newest release, 1.5.0, has expired: agents refuse it/,
      ),
    );
    expect(await troubles({ KULE_AGENT_RELEASES: join(folders.path, "away") })).toContainEqual(
      expect.stringMatching(/^WRONG agent releases: .*away: it cannot be read \(ENOENT\)/),
    );
  });
});

/** Each made by the owner of the database, found, and undone: doctor names this and nothing else. */
const defects: readonly (readonly [what: string, make: string, undo: string, said: RegExp])[] = [
  [
    "a role of the API that is a superuser",
    "alter role kule_api superuser",
    "alter role kule_api nosuperuser",
    /^WRONG role of the API: kule_api is a superuser.*\| as the owner: alter role kule_api nosuperuser/,
  ],
  [
    "one that bypasses row-level security",
    "alter role kule_api bypassrls",
    "alter role kule_api nobypassrls",
    /^WRONG role of the API: kule_api bypasses row-level security/,
  ],
  [
    "one that may create roles",
    "alter role kule_api createrole",
    "alter role kule_api nocreaterole",
    /^WRONG role of the API: kule_api may create roles/,
  ],
  [
    "one that owns a table",
    "create table stray (); alter table stray owner to kule_api",
    "drop table stray",
    /^WRONG role of the API: kule_api owns tables.*reassign owned by kule_api/,
  ],
  [
    "one that is a member of another role",
    "grant pg_read_all_data to kule_api",
    "revoke pg_read_all_data from kule_api",
    /^WRONG role of the API: kule_api is a member of pg_read_all_data \| .*revoke pg_read_all_data from kule_api/,
  ],
  [
    "one that may change the audit trail",
    "grant update on audit to kule_api",
    "revoke update on audit from kule_api",
    /^WRONG role of the API: kule_api may change the audit trail/,
  ],
  [
    "one that may make operators",
    "grant update (is_operator) on app_user to kule_api",
    "revoke update (is_operator) on app_user from kule_api",
    /^WRONG role of the API: kule_api may make a person an operator/,
  ],
  [
    "one that may not read a table",
    "revoke all on domain from kule_api",
    "grant select, insert, update, delete on domain to kule_api",
    /^WRONG role of the API: kule_api may not read domain \| a restore without privileges/,
  ],
  [
    "a role of the worker that may write tokens",
    "grant insert on token to kule_worker",
    "revoke insert on token from kule_worker",
    /^WRONG role of the worker: kule_worker may write tokens/,
  ],
  [
    "one without the rights of its tasks",
    "revoke usage on schema graphile_worker from kule_worker",
    "grant usage on schema graphile_worker to kule_worker",
    /^WRONG role of the worker: kule_worker may not use the schema graphile_worker \| run `kule-server migrate`/,
  ],
  [
    "row-level security that is off",
    "alter table server disable row level security",
    "alter table server enable row level security",
    /^WRONG row-level security: off for server \| as the owner: alter table server enable row level security$/,
  ],
  [
    "row-level security that is not forced",
    "alter table nic no force row level security",
    "alter table nic force row level security",
    /^WRONG row-level security: does not bind the owner of nic \| as the owner: alter table nic force row level/,
  ],
  [
    "a policy that opens a table",
    "create policy support on server for select to kule_api using (true)",
    "drop policy support on server",
    /^WRONG row-level security: other policies open server \| as the owner: drop policy support on server$/,
  ],
  [
    "a policy that shows everything",
    "alter policy organisation on address using (true)",
    "select 1",
    /^WRONG row-level security: address without its policy of organisations/,
  ],
  [
    "a migration of another build",
    "insert into kule_migration (name, timestamp) values ('0002-later-abc', '2030')",
    "delete from kule_migration where name = '0002-later-abc'",
    /^WRONG migrations: the database was migrated by another build: 0002-later-abc \| install the build/,
  ],
  [
    "answers that do not wait for the disk",
    "alter role kule_api set synchronous_commit = off",
    "alter role kule_api reset synchronous_commit",
    /^advice durability: synchronous_commit off/,
  ],
  [
    "no worker",
    "delete from worker_process",
    "insert into worker_process (id, seen_at) values ('wrk_1', clock_timestamp() + interval '1 day')",
    /^WRONG worker: none has run, .*\| systemctl start kule-worker/,
  ],
  [
    "nobody who is an operator",
    "update app_user set is_operator = false where is_operator",
    "update app_user set is_operator = true where email = 'operator@kule.example'",
    /^WRONG operators: nobody is an operator \| run `kule-server seed`/,
  ],
  [
    "a region that was not scanned since a restore",
    "update region set restored_at = now()",
    "update region set restored_at = null",
    /^advice restore: ist1: nothing is allocated until a complete scan.*\| GET \/operator\/restore/,
  ],
  [
    "a restore that nobody has worked through",
    "update region set restored_at = now(), restore_scanned_at = now()",
    "update region set restored_at = null, restore_scanned_at = null",
    /^advice restore: ist1: removals wait until an operator/,
  ],
  [
    "an agent that is silent",
    "update region set health_at = clock_timestamp() - interval '5 minutes'",
    "update region set health_at = clock_timestamp() + interval '1 day'",
    /^WRONG region ist1: silent for 5 minutes \| on the agent's machine: systemctl status kule-agent/,
  ],
  [
    "an agent in trouble",
    "update region set health_ok = false",
    "update region set health_ok = true",
    /^advice region ist1: its agent reports trouble \| GET \/regions\/ist1 names it/,
  ],
  [
    "an agent that was never installed",
    "update region set health_at = null",
    "update region set health_at = clock_timestamp() + interval '1 day'",
    /^advice region ist1: no agent has reported yet \| install its agent/,
  ],
  [
    "an agent with another key",
    "update region set agent_public_key = 'a', pending_agent_key = 'b', pending_agent_key_since = now(), pending_agent_key_seen_at = now()",
    "update region set agent_public_key = null, pending_agent_key = null, pending_agent_key_since = null, pending_agent_key_seen_at = null",
    /^advice region ist1: another sealing key/,
  ],
  [
    "invariants that are violated",
    `insert into invariant_report (checked_at, duration_ms, interval_seconds, checks, violations, failures) values (clock_timestamp(), 1, 600, '[]', '[{"invariant":"I4"}]', '[]')`,
    "delete from invariant_report",
    /^WRONG invariants: 1 are violated \| docs\/runbooks\/invariants\.md/,
  ],
  [
    "invariants that were checked long ago",
    `insert into invariant_report (checked_at, duration_ms, interval_seconds, checks, violations, failures) values (clock_timestamp() - interval '1 hour', 1, 600, '[]', '[]', '[]')`,
    "delete from invariant_report",
    /^advice invariants: last checked 60 minutes ago/,
  ],
];

describe("in the database doctor finds", () => {
  let visible = "";
  beforeAll(async () => {
    const { rows } = await owner.query<{ text: string }>(
      "select pg_get_expr(polqual, polrelid) as text from pg_policy where polrelid = 'address'::regclass and polname = 'organisation'",
    );
    visible = rows[0]?.text ?? "";
  });

  test.each(defects)("%s", async (what, make, undo, said) => {
    await owner.query(make);
    try {
      const found = await troubles();
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(said);
    } finally {
      await owner.query(undo);
      if (what === "a policy that shows everything")
        await owner.query(`alter policy organisation on address using (${visible})`);
    }
    expect(await troubles()).toEqual([]);
  });

  test("a database without tables", async () => {
    await owner.query("create database empty");
    const url = new URL(cluster.database.ownerUrl);
    url.pathname = "/empty";
    const found = await troubles({ KULE_DATABASE_URL: url.href });
    expect(found).toEqual(["WRONG migrations: the database has no tables yet | run `kule-server migrate`"]);
    await owner.query("drop database empty with (force)");
  });

  test("the owner's URL in place of the API's, and the worker's that is missing", async () => {
    const found = await troubles({
      KULE_DATABASE_URL: cluster.database.ownerUrl,
      KULE_WORKER_DATABASE_URL: undefined,
    });
    expect(found).toEqual([
      expect.stringMatching(
        /^WRONG role of the API: \w+ is a superuser, .*give KULE_DATABASE_URL the URL of kule_api/,
      ),
      expect.stringMatching(/^WRONG worker's database: KULE_WORKER_DATABASE_URL is not set/),
    ]);
  });

  test("a password that is wrong, without printing it", async () => {
    const url = new URL(cluster.database.apiUrl);
    url.password = "swordfish";
    const found = await troubles({ KULE_DATABASE_URL: url.href });
    expect(found).toEqual([
      expect.stringMatching(/^WRONG database: kule_api@.* \| the role or its password is not accepted/),
    ]);
    expect(found.join()).not.toContain("swordfish");
  });

  test("a database that is not there, and a Postgres that is not", async () => {
    const url = new URL(cluster.database.apiUrl);
    url.pathname = "/absent";
    expect((await troubles({ KULE_DATABASE_URL: url.href })).join()).toMatch(
      /\| create the database, then run/,
    );
    const away = "postgres://kule_api:x@127.0.0.1:1/kule";
    expect((await troubles({ KULE_DATABASE_URL: away })).join()).toMatch(
      /^WRONG database: kule_api@127\.0\.0\.1:1\/kule: .*ECONNREFUSED.* \| check that Postgres runs/,
    );
  });

  test.each([
    [
      -90_000,
      /^WRONG clock: this machine's clock is \d+(\.\d)? s behind Postgres' \| .*timedatectl set-ntp true$/,
    ],
    [12_000, /^advice clock: this machine's clock is \d+(\.\d)? s ahead of Postgres'/],
  ])("a clock that is %i ms off", async (offset, said) => {
    const found = await troubles({}, { now: () => Date.now() + offset });
    expect(found).toEqual([expect.stringMatching(said)]);
  });
});

describe("beyond the database doctor finds", () => {
  let stray: Server | undefined;
  afterEach(() => {
    stray?.close();
    stray = undefined;
  });
  const answering = async (status: number, headers: Record<string, string> = {}) => {
    stray = createServer((_, response) => response.writeHead(status, headers).end("a page")).listen(
      0,
      "127.0.0.1",
    );
    await once(stray, "listening");
    return urlOf(stray);
  };

  test("every setting that is wrong, and looks at the database all the same", async () => {
    const found = await troubles({ KULE_API_PORT: "eighty", KULE_RATE_LIMIT_BURST: "-1" });
    expect(found).toEqual([
      expect.stringMatching(
        /^WRONG configuration: KULE_API_PORT is "eighty".*\| correct it in \/etc\/kule\/server\.env/,
      ),
      expect.stringMatching(/^WRONG configuration: KULE_RATE_LIMIT_BURST is "-1"/),
    ]);
    expect((await findings({ KULE_API_PORT: "eighty" })).map(({ check }) => check)).toContain(
      "row-level security",
    );
  });

  test.each([
    [
      "a key that the DNS provider refuses",
      { DNS_KEY: "another" },
      /^WRONG DNS provider: .*\| give the worker the provider's key/,
    ],
    ["a key that is not there", { DNS_KEY: "" }, /^WRONG DNS provider: .*DNS_KEY.*\| correct .*dns\.yaml/],
    [
      "a password that the mail server refuses",
      { SMTP_PASSWORD: "x" },
      /^WRONG mail server: 127.*\| correct user and password/,
    ],
  ])("%s", async (_, changed, said) => {
    expect(await troubles(changed)).toEqual([expect.stringMatching(said)]);
  });

  test("a mail server that is away, or has a certificate that nobody vouches for", async () => {
    const text = (more: string) =>
      `host: 127.0.0.1\nport: ${mail.port}\nuser: kule\npassword_env: SMTP_PASSWORD\n${more}from: kule@acme.example\n`;
    writeFileSync(join(folder, "own.yaml"), text(""));
    const file = { KULE_MAIL_FILE: join(folder, "own.yaml") };
    expect(await troubles(file)).toEqual([
      expect.stringMatching(/^WRONG mail server: .*\| correct security of .*ca_file/),
    ]);
    await mail.goAway();
    try {
      expect(await troubles()).toEqual([
        expect.stringMatching(/^WRONG mail server: 127\.0\.0\.1:\d+: .*\| check host, port and security/),
      ]);
    } finally {
      await mail.comeBack();
    }
  });

  test("a DNS provider that is away", async () => {
    const path = join(folder, "away.yaml");
    writeFileSync(
      path,
      'provider: { type: powerdns, url: "http://127.0.0.1:1", api_key_env: DNS_KEY }\nname_servers: [{ name: "*.ns1.kule.example", addresses: [127.0.0.1] }, { name: "*.ns2.kule.example", addresses: [127.0.0.2] }]\n',
    );
    expect(await troubles({ KULE_DNS_FILE: path })).toEqual([
      expect.stringMatching(/^WRONG DNS provider: .*\| check that PowerDNS runs/),
    ]);
  });

  test("a CA without a master key, and one whose directory is no directory", async () => {
    const path = join(folder, "acme.yaml");
    const url = (await answering(200)).replace("http://", "https://");
    writeFileSync(path, `directory: ${url}/dir\nagrees_to_terms: true\nnetwork: any\n`);
    expect(await troubles({ KULE_ACME_FILE: path })).toEqual([
      expect.stringMatching(/^WRONG certificate authority: .*KULE_MASTER_KEY.*\| write a key into the file/),
    ]);
    const key = Buffer.alloc(32, 7).toString("base64");
    expect(await troubles({ KULE_ACME_FILE: path, KULE_MASTER_KEY: key })).toEqual([
      expect.stringMatching(/^WRONG certificate authority: .*\| check directory and ca_file/),
    ]);
  });

  test.each<[number, Record<string, string>, RegExp]>([
    [502, {}, /the reverse proxy of .* answers 502: it does not reach the API \| systemctl start kule-api/],
    [404, {}, /healthz answers 404, and not as the API does \| KULE_PUBLIC_URL must be the API's root/],
    [200, {}, /healthz answers 200, and not as the API does/],
    [308, { location: "https://kule.example/" }, /leads to https:\/\/kule\.example\/ \| write that address/],
  ])("a public URL that answers %i", async (status, headers, said) => {
    const url = await answering(status, headers);
    expect(await troubles({ KULE_PUBLIC_URL: `${url}/api/v1` })).toEqual([expect.stringMatching(said)]);
  });

  test("a public URL where nothing listens, or which is not encrypted", async () => {
    expect(await troubles({ KULE_PUBLIC_URL: "http://127.0.0.1:1/api/v1" })).toEqual([
      expect.stringMatching(/^WRONG public URL: .*\| check the name's address/),
    ]);
    const found = await troubles({ KULE_PUBLIC_URL: "http://kule.invalid/api/v1" });
    expect(found[0]).toMatch(
      /^WRONG public URL: .*is not encrypted.*\| put a reverse proxy with a certificate/,
    );
  });

  test("clients that would all have the address of the proxy", async () => {
    const found = await troubles({ KULE_PUBLIC_URL: "https://127.0.0.1:1/api/v1" });
    expect(found.at(-1)).toMatch(/^advice client addresses: KULE_TRUSTED_PROXIES is 0/);
    const counted = await troubles({
      KULE_PUBLIC_URL: "https://127.0.0.1:1/api/v1",
      KULE_TRUSTED_PROXIES: "1",
    });
    expect(counted.join()).not.toContain("client addresses");
  });

  test("a panel that is away, or whose settings do not go with the API's", async () => {
    expect(await troubles({ KULE_CONSOLE_ORIGINS: "https://other.example" })).toEqual([
      expect.stringMatching(/^WRONG panel: KULE_CONSOLE_ORIGINS lacks http:/),
    ]);
    expect(await troubles({ KULE_CONSOLE_KEY: "" })).toEqual([
      expect.stringMatching(/^advice panel: KULE_CONSOLE_KEY is not set/),
    ]);
    const away = {
      KULE_CONSOLE_PUBLIC_URL: "https://panel.invalid",
      KULE_CONSOLE_ORIGINS: "https://panel.invalid",
    };
    expect(await troubles(away)).toEqual([
      expect.stringMatching(/^WRONG panel: https:\/\/panel\.invalid: .*\| systemctl start kule-console/),
      expect.stringMatching(/^WRONG panel: browsers would open consoles at .* their own machine/),
      expect.stringMatching(/^WRONG panel: cookies are sent without encryption too/),
    ]);
  });

  test("a base backup that is old, or missing", async () => {
    const day = 86_400;
    expect(await troubles({}, { baseBackupAge: 3 * day })).toEqual([]);
    expect(await troubles({}, { baseBackupAge: 20 * day })).toEqual([
      expect.stringMatching(/^advice backup: base: the newest in .* is 20 days old/),
    ]);
    expect(await troubles({}, { baseBackupAge: Number.POSITIVE_INFINITY })).toEqual([
      expect.stringMatching(/^advice backup: base: there is none in/),
    ]);
  });

  test("a disk that is full, or soon", async () => {
    const disk = (free: number) => ({ disks: () => [{ ...full, freeBytes: free * gigabyte }] });
    expect(await troubles({}, disk(1.5))).toEqual([
      expect.stringMatching(/^WRONG disk \/: 1\.5 GB of 100 GB free/),
    ]);
    expect(await troubles({}, disk(8))).toEqual([
      expect.stringMatching(/^advice disk \/: 8\.0 GB of 100 GB free/),
    ]);
  });
});
