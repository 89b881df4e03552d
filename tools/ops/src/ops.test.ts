import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiWorld, firstOperatorToken } from "@kule/api/testing/api-world";
import { rolledOut } from "@kule/api/testing/rollouts";
import { runWorker } from "@kule/api/worker/run";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { parseRegionFile } from "@kule/region-config/load-region-file";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UsageError } from "./command.ts";
import { commands } from "./commands/commands.ts";
import { type ExportedList, exportedLists, leftOutLists } from "./exported-lists.ts";
import type { Send } from "./operator-api.ts";
import { runOps } from "./run-ops.ts";

const url = "http://kule.test/api/v1";

let world: ApiWorld;
let token: string;
beforeAll(async () => {
  world = await ApiWorld.open();
  token = await firstOperatorToken(world.database.ownerUrl);
});
afterAll(() => world.close());

type Run = {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly sent: readonly string[];
};

type More = {
  readonly environment?: Record<string, string>;
  readonly stdin?: string;
  readonly send?: Send;
  readonly files?: Map<string, string>;
};

async function ops(line: string | readonly string[], more: More = {}): Promise<Run> {
  let [out, err] = ["", ""];
  const sent: string[] = [];
  const { files = new Map<string, string>() } = more;
  const code = await runOps(typeof line === "string" ? line.split(" ") : line, {
    environment: more.environment ?? { KULE_API_URL: url, KULE_OPERATOR_TOKEN: token },
    readStdin: async () => more.stdin ?? "",
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    files: {
      write(path, text) {
        if (files.has(path)) throw new UsageError(`${path} is there already`);
        files.set(path, text);
      },
    },
    send: async (request) => {
      sent.push(`${request.method} ${new URL(request.url).pathname}`);
      return more.send?.(request) ?? world.app.request(request);
    },
    pause: async () => {},
  });
  return { code, out, err, sent };
}

const json = async (line: string | readonly string[], more?: More) => {
  const run = await ops(line, more);
  expect([run.code, run.err]).toEqual([0, ""]);
  return JSON.parse(run.out);
};

/** Each command with arguments that it takes. */
const examples: Readonly<Record<string, readonly string[]>> = {
  "organisation create": ["--slug", "acme", "--name", "Acme Ltd"],
  "organisation export": ["org_1"],
  "region add": ["--slug", "ist1", "--name", "Istanbul", "--vmids", "20000-29999", "--vlans", "100-999"],
  "pool add": [
    "--region",
    "ist1",
    "--name",
    "public",
    "--gateway",
    "203.0.113.1",
    "--prefix-length",
    "24",
    "--range",
    "203.0.113.10-203.0.113.19",
  ],
  "quota set": ["org_1", "servers=20", "memory_mb=unlimited"],
  "invariants run": [],
  "jobs stuck": ["--region", "ist1", "--reason", "silent"],
  "agent list": [],
  "agent rollout": ["start", "1.4.0", "--first-region", "ist1"],
  "restore show": [],
  "restore held-vms": ["--region", "ist1"],
  "restore accept-incomplete-scan": ["ist1"],
  "restore end": ["ist1"],
};

test("every command has an example here", () => {
  expect(Object.keys(examples)).toEqual(commands.map(({ noun, verb }) => `${noun} ${verb}`));
});

describe("usage", () => {
  test.each(Object.keys(examples))("%s explains itself, and sends nothing in a dry run", async (name) => {
    const help = await ops([...name.split(" "), "--help"], { environment: {} });
    expect([help.code, help.err, help.sent]).toEqual([0, "", []]);
    expect(help.out).toMatch(new RegExp(`^usage: npm run ops -- ${name}`));
    for (const option of ["--dry-run", "--json", "--token-stdin", "KULE_API_URL"])
      expect(help.out).toContain(option);

    const dry = await ops([...name.split(" "), ...(examples[name] ?? []), "--dry-run"], {
      environment: { KULE_API_URL: url },
    });
    expect([dry.code, dry.err, dry.sent]).toEqual([0, "", []]);
    expect(dry.out).toMatch(/^(GET|PATCH|POST|PUT) http:\/\/kule\.test\/api\/v1\/\S+$/m);
    expect(dry.out).toContain("authorization: Bearer (the token)");
  });

  test("a dry run shows every request as it would be sent, as text or as JSON", async () => {
    const args = ["pool", "add", ...(examples["pool add"] ?? []), "--dry-run", "--idempotency-key", "key"];
    const { out } = await ops(args);
    const shown = JSON.parse((await ops([...args, "--json"])).out);
    expect(shown).toMatchObject([
      {
        method: "POST",
        url: `${url}/ip-pools`,
        headers: { "idempotency-key": "key-1", "content-type": "application/json" },
        body: { region: "ist1", name: "public", gateway: "203.0.113.1", prefix_length: 24 },
      },
      {
        method: "POST",
        url: `${url}/ip-pools/ID-OF-THE-ANSWER-BEFORE/ranges`,
        headers: { "idempotency-key": "key-2" },
        body: { start: "203.0.113.10", end: "203.0.113.19" },
      },
    ]);
    expect(out).toContain(`POST ${url}/ip-pools\n`);
    expect(out).toContain('\n{"start":"203.0.113.10","end":"203.0.113.19"}\n');
    expect(out).not.toContain(token);
  });

  test.each([
    ["", /^usage/],
    ["--help", /^usage/],
    ["region --help", /region add/],
  ])("%j lists the commands", async (line, expected) => {
    const { code, out } = await ops(line === "" ? [] : line);
    expect([code, out]).toEqual([line === "" ? 2 : 0, expect.stringMatching(expected)]);
  });

  test.each([
    ["server create", /there is no "server"/],
    ["region remove", /region has no "remove": add/],
    ["organisation create --slug acme", /needs --name/],
    ["organisation create --slug a --slug b --name x", /--slug is given more than once/],
    ["organisation create acme --slug a --name x", /takes nothing, and got 1/],
    ["organisation create --slug a --name x --colour red", /--colour/],
    ["region add --slug a --name a --vmids many --vlans 1-2", /--vmids is "many"/],
    ["region add --slug a --name a --vmids 1-2 --vlans 1-2 --mode other", /agent or direct/],
    ["pool add --region a --name a --gateway 1 --prefix-length x --range 1-2", /--prefix-length/],
    ["pool add --region a --name a --gateway 1 --prefix-length 24 --range 1", /--range is "1"/],
    ["quota set org_1 servers", /no limit/],
    ["jobs stuck --reason bored", /--reason is one of/],
    ["organisation export org_1 --most 0", /--most/],
    ["agent list --token x", /--token/],
    ["agent rollout begin", /agent rollout has no "begin": start, status/],
    ["agent rollout start", /needs a VERSION/],
    ["agent rollout status 1.4.0", /takes no version/],
    ["agent rollout pause --follow", /--follow is for start and status/],
    ["agent rollout pause --first-region ist1", /--first-region is for start/],
  ])("%s is refused with exit code 2 before anything is sent", async (line, why) => {
    const { code, out, err, sent } = await ops(line);
    expect([code, out, sent]).toEqual([2, "", []]);
    expect(err).toMatch(why);
  });

  test("the token comes from the environment or from standard input, and is no argument", async () => {
    const without = await ops("agent list", { environment: { KULE_API_URL: url } });
    expect([without.code, without.err]).toEqual([2, expect.stringContaining("KULE_OPERATOR_TOKEN")]);
    const read = await ops("agent list --token-stdin", {
      environment: { KULE_API_URL: url },
      stdin: `${token}\n`,
    });
    expect([read.code, read.err]).toEqual([0, ""]);
    const argument = await ops(["agent", "list", token]);
    expect([argument.code, argument.sent]).toEqual([2, []]);
    expect(argument.err).toContain("a token is no argument");
    expect(argument.err).not.toContain(token);
    const noUrl = await ops("agent list", { environment: { KULE_OPERATOR_TOKEN: token } });
    expect([noUrl.code, noUrl.err]).toEqual([2, expect.stringContaining("KULE_API_URL")]);
  });
});

describe("an installation is set up", () => {
  let organisation: string;

  test("with an organisation and its quotas", async () => {
    const created = await json("organisation create --slug acme --name Acme --json");
    expect(created).toMatchObject({ slug: "acme", name: "Acme" });
    organisation = created.id;
    const { items } = await json(["quota", "set", organisation, "servers=20", "vcpu=32", "--json"]);
    expect(items).toContainEqual(expect.objectContaining({ name: "servers", limit: 20 }));
    const lifted = await ops(["quota", "set", organisation, "servers=unlimited"]);
    expect(lifted.out).toMatch(/^servers +0 +unlimited$/m);
    expect(lifted.out).toMatch(/^vcpu +0 +32$/m);
  });

  test("with a region, the token of its agent and a region file that the agent accepts", async () => {
    const files = new Map<string, string>();
    const args = ["region", "add", ...(examples["region add"] ?? [])];
    const run = await ops([...args, "--country", "TR", "--file", "ist1.yaml"], { files });
    expect([run.code, run.err]).toEqual([0, ""]);
    const [, secret = ""] = /^KULE_AGENT_TOKEN=(\S+)$/m.exec(run.out) ?? [];
    const claimed = await world.app.request("/api/v1/agent/health", {
      method: "POST",
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ agent_version: "1.2.3", hypervisor: { kind: "proxmox-ve", reachable: true } }),
    });
    expect(claimed.status).toBe(200);
    const file = files.get("ist1.yaml") ?? "";
    expect(file).not.toContain(secret);
    // The API of this test is on no address that an agent would accept over http.
    const parsed = parseRegionFile(file.replace(url, "https://kule.example/api/v1"), "ist1.yaml", {
      KULE_AGENT_TOKEN: "kule_agent_x",
      KULE_PVE_TOKEN: "cloud@pve!agent=00000000-0000-0000-0000-000000000000",
    });
    expect(parsed).toMatchObject({
      region: "ist1",
      hypervisor: { vmidRange: { first: 20_000, last: 29_999 } },
    });
  });

  test("with a region of direct mode, which has no agent's token", async () => {
    const args = [
      "region",
      "add",
      "--slug",
      "ank1",
      "--name",
      "Ankara",
      "--vmids",
      "30000-30999",
      "--vlans",
      "1000-1100",
    ];
    expect(await json([...args, "--mode", "direct", "--json"])).toMatchObject({
      region: { slug: "ank1", mode: "direct" },
      agent_token: null,
      region_file: expect.stringContaining("vmid_range: 30000-30999"),
    });
  });

  test("with public addresses", async () => {
    const run = await ops(["pool", "add", ...(examples["pool add"] ?? []), "--range", "203.0.113.128/28"]);
    expect([run.code, run.err]).toEqual([0, ""]);
    expect(run.out).toContain("203.0.113.10 to 203.0.113.19: 10 addresses");
    expect(run.out).toContain("203.0.113.128 to 203.0.113.143: 16 addresses");
  });

  test("and its agents are listed with version and last report", async () => {
    const { out } = await ops("agent list");
    expect(out).toMatch(/^REGION +MODE +STATUS +VERSION +LAST REPORT +QUEUED +RUNNING$/m);
    expect(out).toMatch(/^ist1 +agent +\S+ +1\.2\.3 +\d{4}-\d\d-\d\dT\S+Z +0 +0$/m);
    expect(out).toMatch(/^ank1 +direct +\S+ +- +never +0 +0$/m);
    expect((await json("agent list --json")).items).toHaveLength(2);
  });

  test("and a release is rolled out to its agents", async () => {
    expect((await ops("agent rollout status")).out).toBe("there has been no rollout\n");
    const none = await ops("agent rollout start 99.0.0");
    expect([none.code, none.err]).toEqual([1, expect.stringContaining("version: no such release")]);
    const run = await ops(`agent rollout start ${rolledOut}`);
    expect([run.code, run.err]).toEqual([0, ""]);
    expect(run.out).toMatch(new RegExp(`^rol_\\w+  ${rolledOut}: running$`, "m"));
    expect(run.out).toMatch(/^ist1 +waiting +- +- +1\.2\.3$/m);
    expect(await json("agent rollout status --json")).toMatchObject({
      version: rolledOut,
      status: "running",
    });
    expect(await json("agent rollout pause --json")).toMatchObject({ status: "paused" });
    expect(await json("agent rollout resume --json")).toMatchObject({ status: "running" });
  });

  test("and is followed until it stops, which is exit code 1", async () => {
    let looks = 0;
    const run = await ops("agent rollout status --follow", {
      send: async (request) => {
        const answer = await world.app.request(request);
        if (!/rollouts\/rol_/.test(request.url)) return answer;
        looks += 1;
        const body = (await answer.json()) as { regions: object[] };
        const regions = body.regions.map((each) => ({ ...each, state: looks > 1 ? "failed" : "offered" }));
        const stopped = { status: "stopped", reason: "Region ist1: gone\u001b[2J" };
        return Response.json({ ...body, regions, ...(looks > 2 ? stopped : {}) });
      },
    });
    expect(run.code).toBe(1);
    expect(run.err).toContain("ist1: offered\n");
    expect(run.err).toContain("ist1: failed\n");
    expect(run.err.match(/ist1: failed/g)).toHaveLength(1);
    expect(run.out).toContain("stopped: Region ist1: gone?[2J");
    expect((await json("agent rollout cancel --json")).status).toBe("cancelled");
    const late = await ops("agent rollout cancel");
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("agent_rollout_open")]);
  });

  test("and stuck jobs are listed by reason and region", async () => {
    expect((await ops("jobs stuck")).out).toBe("no job is stuck\n");
    const owner = await world.addToken(organisation, "owner");
    const server = { name: "web-1", region: "ist1", image: "debian-13", package: "s" };
    const { status, body } = await owner.post("/servers", server);
    expect([status, body.code]).toEqual([202, undefined]);
    const client = new Client({ connectionString: world.database.ownerUrl });
    await client.connect();
    await client.query("update job set run_at = now() - interval '1 hour' where id = $1", [body.job.id]);
    expect((await ops("jobs stuck")).out).toMatch(new RegExp(`^${body.job.id} +not_claimed `, "m"));
    expect((await json("jobs stuck --region ist1 --json")).items).toHaveLength(1);
    expect((await json("jobs stuck --region ank1 --json")).items).toEqual([]);
    expect((await json("jobs stuck --reason silent --reason slow --json")).items).toEqual([]);
    await client.query("update job set run_at = now() where id = $1", [body.job.id]);
    await client.end();
  });

  test("and what a region waits for after a restore", async () => {
    expect((await ops("restore show")).out).toBe("the database was never restored\n");
    expect((await ops("restore held-vms")).out).toBe("nothing is held back\n");
    expect((await ops("restore end ank1")).code).toBe(1);
    const client = new Client({ connectionString: world.database.ownerUrl });
    await client.connect();
    await client.query(`insert into restore (id, epoch_floor, summary)
      values ('rst_1', 1, '{"jobs_ended":0,"jobs_kept":0,"sessions_ended":0,"codes_ended":0,"tokens_valid":0}')`);
    await client.query("update region set restored_at = now() where slug = 'ank1'");
    await client.query(`insert into held_vm (id, region, vmid, pass, held)
      values ('hvm_1', 'ank1', 40007, 1, '[{"kind":"vmid","value":"40007","subnetId":null,"holder":null}]')`);
    expect((await ops("restore show")).out).toMatch(/^ank1 +waiting +1 +0 +0 +0 +0 +-$/m);
    expect((await ops("restore held-vms --region ank1")).out).toMatch(/^ank1 +40007 +- .*vmid 40007/m);
    expect((await ops("restore accept-incomplete-scan ank1")).out).toBe("ank1 is waiting\n");
    await client.query("update region set restore_scanned_at = now() where slug = 'ank1'");
    expect((await ops("restore end ank1")).out).toBe("ank1 is ended\n");
    await client.query(
      "update region set restored_at = null, restore_scanned_at = null, restore_ended_at = null",
    );
    await client.query("delete from held_vm");
    await client.end();
  });

  test("and an organisation is exported whole, in pages, up to what was asked for", async () => {
    const owner = await world.addToken(organisation, "owner");
    for (const name of ["a", "b", "c"]) {
      const key = await owner.post("/networks", { name, region: "ist1" });
      expect([key.status, key.body.code]).toEqual([expect.any(Number), undefined]);
    }
    const files = new Map<string, string>();
    const run = await ops(["organisation", "export", organisation, "--output", "acme.json"], { files });
    expect([run.code, run.err]).toEqual([0, ""]);
    const exported = JSON.parse(files.get("acme.json") ?? "{}");
    expect(exported).toMatchObject({
      organisation: { id: organisation, slug: "acme" },
      servers: [{ name: "web-1" }],
      incomplete: [],
    });
    expect(exported.networks.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["a", "b", "c"]),
    );
    expect(exported.networks[0].subnets).toEqual(expect.any(Array));
    expect(exported.quotas).toContainEqual(expect.objectContaining({ name: "servers" }));
    expect(run.out).toMatch(/^wrote acme\.json: .*\b1 servers/);

    const bounded = await ops(["organisation", "export", organisation, "--most", "2"]);
    expect(bounded.err).toContain("networks: only 2 are there; raise --most");
    expect(JSON.parse(bounded.out).networks).toHaveLength(2);
    expect(JSON.parse(bounded.out).incomplete).toContain("networks");
    const again = await ops(["organisation", "export", organisation, "--output", "acme.json"], { files });
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("there already")]);
  });
});

test("the export has every list of an organisation that the API has", () => {
  const names = (lists: readonly ExportedList[]): OperationId[] =>
    lists.flatMap(({ operation, ofEach = [] }) => [operation, ...names(ofEach)]);
  const lists = Object.values(operations)
    .filter(({ method, queryParameters }) => method === "get" && queryParameters.includes("cursor"))
    .filter(({ headerParameters }) => headerParameters.includes("Kule-Organisation"))
    .map(({ id }) => id);
  expect([...new Set([...names(exportedLists), ...Object.keys(leftOutLists)])].sort()).toEqual(lists.sort());
});

test("the commands know the contract and nothing else of Kule", () => {
  const imported = globSync("**/*.ts", { cwd: import.meta.dirname })
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) => [
      ...readFileSync(join(import.meta.dirname, file), "utf8").matchAll(/from "(@kule\/[^/]+)/g),
    ])
    .map(([, name]) => name);
  expect(new Set(imported)).toEqual(new Set(["@kule/contract"]));
});

describe("invariants", () => {
  test("are checked now, and a violation is exit code 1", async () => {
    const worker = await runWorker({ deps: world.replica.deps, workerUrl: world.database.workerUrl });
    try {
      const fine = await ops("invariants run");
      expect([fine.code, fine.err]).toEqual([0, ""]);
      expect(fine.out).toMatch(/^checked at \S+, in \d+ ms: 0 violations/);
      const violated = await ops("invariants run", {
        send: async (request) => {
          const body = (await (await world.app.request(request)).json()) as object;
          const violation = {
            invariant: "I4",
            check: "an address is lost",
            subject: "10.0.0.9\u001b[2J",
            since: "2026-01-01T00:00:00Z",
          };
          return Response.json({ ...body, violations_total: 1, violations: [violation] });
        },
      });
      expect(violated.code).toBe(1);
      expect(violated.out).toContain("I4");
      expect(violated.out).not.toContain("\u001b");
    } finally {
      await worker.stop();
    }
  });
});

describe("a refusal", () => {
  test("names code, fields and request id, with exit code 1", async () => {
    const run = await ops(["organisation", "create", "--slug", "Not A Slug", "--name", "x"]);
    expect([run.code, run.out]).toEqual([1, ""]);
    expect(run.err).toMatch(/^validation_failed \(422\): /);
    expect(run.err).toMatch(/^ {2}slug: .* \(\w+\)$/m);
    expect(run.err).toMatch(/^ {2}request id: \S+$/m);
  });

  test("names the precondition and its fix where there is one, and is JSON on request", async () => {
    await ops("organisation create --slug twice --name Twice");
    const run = await ops("organisation create --slug twice --name Twice");
    expect(run.code).toBe(1);
    expect(run.err).toMatch(/^\w+ \(409\): /);
    expect(run.err).toMatch(/^ {2}precondition: \w+: /m);
    const asJson = await ops("organisation create --slug twice --name Twice --json");
    expect(JSON.parse(asJson.err).error).toMatchObject({ status: 409, request_id: expect.any(String) });
  });

  test("of a token without the permission says which one it lacks", async () => {
    const { id } = await json("organisation create --slug other --name Other --json");
    const owner = await world.addToken(id, "owner");
    const environment = { KULE_API_URL: url, KULE_OPERATOR_TOKEN: owner.token ?? "" };
    const run = await ops("region add --slug x --name X --vmids 40000-40001 --vlans 10-20", { environment });
    expect([run.code, run.out]).toEqual([1, ""]);
    expect(run.err).toMatch(/\(403\)/);
    expect(run.err).toContain("the token lacks operator:regions");
  });
});

describe("an API that does not answer as it should", () => {
  test("is waited for when it says how long, and the change is made once", async () => {
    let calls = 0;
    const run = await ops("organisation create --slug later --name Later", {
      send: async (request) => {
        calls += 1;
        if (calls === 1) return new Response("", { status: 429, headers: { "Retry-After": "7" } });
        if (calls === 2) throw new Error("connection reset");
        const answer = await world.app.request(request);
        if (calls === 3) throw new Error("the answer was lost");
        return answer;
      },
    });
    expect([run.code, run.err]).toEqual([0, "the API takes no more requests now; going on in 7 s\n"]);
    expect(calls).toBe(4);
    const found = await world.operator.get("/organisations?limit=200");
    expect(found.body.items.filter(({ slug }: { slug: string }) => slug === "later")).toHaveLength(1);
  });

  test("ends with exit code 1, and with the key under which the change can be sent again", async () => {
    const away = await ops("organisation create --slug away --name Away --idempotency-key mine", {
      send: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") })),
    });
    expect([away.code, away.out]).toEqual([1, ""]);
    expect(away.err).toContain(`nothing answers at ${url}: connect ECONNREFUSED`);
    expect(away.err).toContain("--idempotency-key mine");
    const proxy = await ops("agent list", { send: async () => new Response("<html>", { status: 404 }) });
    expect([proxy.code, proxy.err]).toEqual([
      1,
      expect.stringContaining("answered 404, not as the API does"),
    ]);
  });
});
