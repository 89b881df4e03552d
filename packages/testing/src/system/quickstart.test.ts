import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { probePebble } from "@kule/lab/certificate-authority/pebble-daemon";
import { effects } from "@kule/lab/effects";
import { readJournal } from "@kule/lab/journal";
import { probeWires } from "@kule/lab/wires/wires";
import { afterEach, beforeEach, expect, test } from "vitest";
import { requirePart } from "../parts.ts";
import { QuickstartHome } from "../quickstart-home.ts";

const wires = await requirePart("wires", probeWires, import.meta.filename);
const pebble = await requirePart("pebble", probePebble, import.meta.filename);
/** The lab's CA is there where pebble is. */
const ca = pebble.missing ? [] : ["ca"];

/** The fields of the API's answers that are read here. */
interface AnswerBody {
  items: { id: string; name: string; status: string }[];
  regions: { slug: string }[];
  job: { id: string };
  status: string;
}

let quickstart: QuickstartHome;
let home: string;
let env: Readonly<Record<string, string>>;

beforeEach(async () => {
  quickstart = await QuickstartHome.open();
  home = quickstart.directory;
  env = quickstart.env;
});

afterEach(() => quickstart.close());

async function call(
  path: string,
  init: { method?: string; body?: unknown } = {},
): Promise<{ status: number; body: AnswerBody }> {
  const { api_url, organisation_token } = quickstart.file();
  const response = await fetch(api_url + path, {
    method: init.method ?? "GET",
    headers: { authorization: `Bearer ${organisation_token}`, "content-type": "application/json" },
    ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
  });
  return { status: response.status, body: (await response.json()) as AnswerBody };
}

test("from nothing to a running first server, and a script that uses only the specification creates another", async () => {
  const providers = join(home, "oidc.yaml");
  writeFileSync(
    providers,
    "providers: [{ id: acme, label: Acme ID, issuer: 'http://127.0.0.1:4', client_id: kule, client_secret_env: ACME_SECRET }]",
  );
  const run = quickstart.start({ KULE_OIDC_FILE: providers, ACME_SECRET: "swordfish" });
  await quickstart.untilServing(run);
  expect(run.output()).toMatch(/first-tower runs\./);
  expect((await call("/auth/oidc/providers")).body.items).toMatchObject([{ id: "acme", label: "Acme ID" }]);
  expect(run.output()).toContain(
    `Acme ID redirects to http://127.0.0.1:${env.KULE_CONSOLE_PORT}/sign-in/with/acme/callback`,
  );
  expect(await (await fetch(`${quickstart.file().console_url}/sign-in`)).text()).toContain("Acme ID");
  expect(statSync(join(home, "quickstart.json")).mode & 0o777).toBe(0o600);
  expect(quickstart.file()).toEqual({
    api_url: `http://127.0.0.1:${env.KULE_API_PORT}/api/v1`,
    console_url: `http://127.0.0.1:${env.KULE_CONSOLE_PORT}`,
    operator_token: expect.stringMatching(/^kule_ops_/),
    organisation_token: expect.stringMatching(/^kule_pat_/),
    agent_token: expect.stringMatching(/^kule_agent_/),
    organisation_id: expect.stringMatching(/^org_/),
    region: "lab1",
    lab_pve_url: `https://127.0.0.1:${env.KULE_LAB_PORT}`,
    dns_server: `127.0.0.1:${env.KULE_LAB_DNS_PORT}`,
    registrar_url: expect.stringMatching(/^http:\/\/127\.0\.0\.2:\d+\/.*\/zones\/test\.$/),
    registrar_key: expect.any(String),
    ...(pebble.missing ? {} : { ca_root: join(home, "ca/root.pem") }),
    users: {
      operator: { email: expect.stringContaining("@"), password: expect.any(String) },
      organisation: { email: expect.stringContaining("@"), password: expect.any(String) },
    },
  });

  const catalog = await call("/catalog");
  const created = await call("/servers", {
    method: "POST",
    body: { name: "scripted", region: catalog.body.regions[0]?.slug, image: "debian-12", package: "s" },
  });
  expect(created.status).toBe(202);
  await expect
    .poll(async () => (await call(`/jobs/${created.body.job.id}`)).body.status, {
      timeout: 60_000,
      interval: 3_000,
    })
    .toBe("succeeded");
  for (const version of [4, 6]) {
    const taken = await call("/public-ips", { method: "POST", body: { region: "lab1", version } });
    expect(taken).toMatchObject({ status: 201, body: { version, attached_to: null } });
  }
  expect((await fetch(quickstart.file().console_url, { redirect: "manual" })).status).toBeLessThan(400);

  // The URL of the tables' owner is for what migrates and seeds, and that has ended.
  const environments = new Map(
    ["api", "worker", "console", "agent", "lab", "dns", ...ca].map((name) => [
      name,
      readFileSync(`/proc/${quickstart.pidOf(name)}/environ`, "utf8"),
    ]),
  );
  const rolesIn = (environment: string) =>
    [...environment.matchAll(/postgres(?:ql)?:\/\/([^:@/]+)/g)].map(([, role]) => role);
  expect(environments.get("api")).toContain("KULE_DATABASE_URL=");
  // The key of the DNS provider is the worker's alone.
  expect(environments.get("worker")).toContain("KULE_DNS_API_KEY=");
  expect(environments.get("api")).not.toContain("KULE_DNS_API_KEY");
  // So is the key under which that of the account at the CA is encrypted.
  expect(environments.get("worker")?.includes("KULE_MASTER_KEY=")).toBe(!pebble.missing);
  expect(environments.get("api")).not.toContain("KULE_MASTER_KEY");
  for (const [name, environment] of environments) {
    expect(environment, name).not.toContain("OWNER_DATABASE_URL");
    for (const role of rolesIn(environment)) expect(["kule_api", "kule_worker"], name).toContain(role);
  }
});

test("a file of providers that is wrong ends the start with its line and a fix, and leaves nothing running", async () => {
  const providers = join(home, "oidc.yaml");
  writeFileSync(providers, "providers:\n  - id: acme\n    labels: Acme ID\n");
  const run = quickstart.start({ KULE_OIDC_FILE: providers });
  expect(await run.ended).toMatchObject({ code: 1 });
  expect(run.output()).toContain(`${providers}:3:5: providers[0].labels: is not a key that is known here`);
  expect(run.output()).toContain("fix: did you mean label?");
  expect([...quickstart.processes().keys()]).toEqual([]);
});

test("Ctrl-C ends every process within ten seconds, and a second start continues with the data", async () => {
  const first = quickstart.start();
  await quickstart.untilServing(first);
  const before = (await call("/servers")).body.items;
  const begin = performance.now();
  first.signal("SIGINT");
  expect(await first.ended).toMatchObject({ code: 0 });
  expect(performance.now() - begin).toBeLessThan(10_000);
  expect([...quickstart.processes().keys()]).toEqual([]);

  const tokens = quickstart.file();
  const second = quickstart.start();
  await quickstart.untilServing(second);
  expect(quickstart.file()).toEqual(tokens);
  expect((await call("/servers")).body.items).toEqual(before);
});

// A job whose agent was killed is continued when its lease has expired.
test("whenever everything is killed, starting again ends with the one first server and nothing twice", {
  timeout: 300_000,
}, async () => {
  // The kills happen while Postgres is created, while parts start, while the job runs, and after it.
  for (const afterMs of [300, 1_000, 2_000, 3_000, 4_500, 6_000]) {
    const run = quickstart.start({ KULE_LAB_TIME_SCALE: "0.2" });
    await delay(afterMs);
    quickstart.killEverything();
    run.signal("SIGKILL");
    await run.ended;
  }
  const last = quickstart.start();
  await quickstart.untilServing(last, 200_000);
  const { items } = (await call("/servers")).body;
  expect(items).toMatchObject([{ name: "first-tower", status: "running" }]);
  const done = effects(readJournal(join(home, "lab")));
  expect(done.vmsByMarker(items[0]?.id ?? "absent")).toHaveLength(1);
});

test("a part that dies is started again, the database included", async () => {
  await quickstart.untilServing(quickstart.start());
  for (const name of ["api", "postgres", "agent", "lab", "dns", ...ca]) {
    const pid = quickstart.processes().get(name);
    process.kill(pid ?? 0, "SIGKILL");
    await expect
      .poll(() => quickstart.processes().get(name) ?? pid, { timeout: 20_000, interval: 50 })
      .not.toBe(pid);
  }
  await expect
    .poll(
      () =>
        call("/servers").then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 30_000, interval: 200 },
    )
    .toBe(200);
  const created = await call("/servers", {
    method: "POST",
    body: { name: "after", image: "debian-12", package: "s" },
  });
  expect(created.status).toBe(202);
  await expect
    .poll(async () => (await call(`/jobs/${created.body.job.id}`)).body.status, {
      timeout: 60_000,
      interval: 3_000,
    })
    .toBe("succeeded");
});

test("a busy port is named with the variable that changes it, and nothing is left running", async () => {
  await quickstart.untilServing(quickstart.start());
  const second = quickstart.start({ KULE_HOME: join(home, "second") });
  expect(await second.ended).toMatchObject({ code: 1 });
  expect(second.output()).toContain(`Port ${env.KULE_API_PORT} for the API is in use: set KULE_API_PORT`);
  expect(second.output()).toContain("KULE_CONSOLE_PORT");
  const third = quickstart.start();
  expect(await third.ended).toMatchObject({ code: 1 });
  expect(third.output()).toMatch(/already runs from/);
});

test("--mode direct creates the first server without an agent", async () => {
  const run = quickstart.start({}, ["--mode", "direct"]);
  await quickstart.untilServing(run);
  expect(readFileSync(join(home, "logs", "worker.log"), "utf8")).toContain("taking jobs");
  expect(() => statSync(join(home, "logs", "agent.log"))).toThrow(/ENOENT/);
});

test.skipIf(wires.missing)(
  "without a program for packets it says what to install, and starts all the same",
  async () => {
    const programs = join(home, "programs");
    mkdirSync(programs);
    for (const directory of ["/usr/sbin", "/usr/bin", "/sbin", "/bin"])
      for (const name of readdirSync(directory))
        if (name !== "nft" && !existsSync(join(programs, name)))
          symlinkSync(join(directory, name), join(programs, name));
    const run = quickstart.start({ PATH: programs });
    await quickstart.untilServing(run);
    expect(run.output()).toMatch(/^Packets +none.*nft is not installed.*apt-get install nftables$/m);
    expect(run.output()).not.toContain("ENOENT");
  },
);
