import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "@kule/testing/parts";
import { afterEach, describe, expect, test } from "vitest";
import { readStatus } from "./read-status.ts";
import { probeHaproxy, TriedAppliance } from "./tried-appliance.ts";

const part = await requirePart("haproxy", probeHaproxy, import.meta.filename);
const appliances: TriedAppliance[] = [];
afterEach(async () => {
  for (const each of appliances.splice(0)) await each.close();
});

function newAppliance(servers: readonly string[] = []): TriedAppliance {
  // What never becomes right is waited for, so not long.
  const appliance = new TriedAppliance((script) =>
    script.replace(/^reload_seconds=.*$/m, "reload_seconds=1"),
  );
  appliances.push(appliance);
  appliance.place({
    "haproxy/haproxy.cfg": [
      "global",
      "frontend lsn_1",
      "    bind 0.0.0.0:20443 ssl crt-list certificates/lsn_1.list",
      "    bind 0.0.0.0:8080",
      "backend lsn_1",
      ...servers.map((server) => `    server ${server} check port 9 inter 2s rise 3 fall 2`),
      "",
    ].join("\n"),
    "haproxy/servers": servers.map((server) => `lsn_1 ${server.split(" ")[0]}\n`).join(""),
  });
  return appliance;
}

/** A line of `show servers state`. */
const running = (server: string, address: string, port: number, more = "0 9 10.0.0.99 - 0") =>
  `3 lsn_1 1 ${server} ${address} 2 0 5 5 77 6 3 4 6 0 0 0 - ${port} - ${more}`;
const kept = (server: string, address: string, port: number) => running(server, address, port, "0 0 - - 0");
const down = (server: string, port: number) =>
  `1 lsn_1 1 ${server} - 0 0 1 1 0 8 2 0 6 0 0 0 - ${port} - 0 0 - - 0`;
const answered = (...lines: readonly string[]) => `1\n# be_id be_name\n${lines.join("\n")}\n\n`;

describe.skipIf(part.missing)("Before a reload of haproxy", () => {
  test("every server is down that the running worker does not have, and the others are as it sees them", async () => {
    const appliance = newAppliance(["tgt_1 10.0.0.1:80", "tgt_2.srv_1 10.0.0.2:80"]);
    await appliance.answer("admin", () =>
      answered(running("tgt_1", "10.0.0.1", 80), running("tgt_9", "10.0.0.9", 80)),
    );
    expect(await appliance.call("prepare")).toEqual({ exitCode: 0, output: "", errors: "" });
    expect(appliance.states()).toEqual([kept("tgt_1", "10.0.0.1", 80), down("tgt_2.srv_1", 80)]);
    expect(readdirSync(appliance.run).toSorted()).toEqual(["admin.sock", "former", "lock", "server-state"]);
  });

  test("a server is new whose address or port is another, however the same one is written", async () => {
    const appliance = newAppliance([
      "tgt_1 10.0.0.1:81",
      "tgt_2 10.0.0.22:80",
      "tgt_3 [FD00:0:0000::0a01]:80",
      "tgt_4 ipv6@[fd00::2]:80",
    ]);
    await appliance.answer("admin", () =>
      answered(
        running("tgt_1", "10.0.0.1", 80),
        running("tgt_2", "10.0.0.2", 80),
        running("tgt_3", "fd00::a01", 80),
        running("tgt_4", "fd00::3", 80),
      ),
    );
    await appliance.call("prepare");
    expect(appliance.states()).toEqual([
      kept("tgt_3", "fd00::a01", 80),
      down("tgt_1", 81),
      down("tgt_2", 80),
      down("tgt_4", 80),
    ]);
  });

  test("what was known a moment ago is used when it does not answer, or not to the end; nothing older", async () => {
    const appliance = newAppliance(["tgt_1 10.0.0.1:80"]);
    await appliance.answer("admin", () => answered(running("tgt_1", "10.0.0.1", 80)));
    await appliance.call("prepare");
    await appliance.silence();
    await appliance.answer("admin", () => answered().slice(0, 10));
    await appliance.call("prepare");
    expect(appliance.states()).toEqual([kept("tgt_1", "10.0.0.1", 80)]);
    await appliance.silence();
    const old = Date.now() / 1000 - 200;
    utimesSync(join(appliance.run, "server-state"), old, old);
    await appliance.call("prepare");
    expect(appliance.states()).toEqual([down("tgt_1", 80)]);
  });

  test("the ports of the listeners are kept from connections to targets", async () => {
    const appliance = newAppliance();
    await appliance.call("prepare");
    expect(readFileSync(join(appliance.guest.directory, "reserved-ports"), "utf8")).toBe("8080,20443\n");
  });

  test("what a call that was killed has left is removed", async () => {
    const appliance = newAppliance();
    const left = join(appliance.run, "answer.123");
    writeFileSync(left, "");
    utimesSync(left, 1, 1);
    await appliance.call("prepare");
    expect(existsSync(left)).toBe(false);
  });
});

const columns =
  `pxname,svname,scur,stot,bin,bout,dreq,ereq,status,lastchg,check_status,check_code,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,req_rate,req_tot,last_chk,conn_rate,conn_tot,dcon${",x".repeat(70)}`.split(
    ",",
  );
/** A row of `show stat`. */
const row = (values: Readonly<Record<string, string>>) => columns.map((name) => values[name] ?? "").join(",");
const info = "Name: HAProxy\nPid: 42\nMaxconn: 500\nCurrConns: 3\nStart_time_sec: 1795710654\n\n";
const processes = (...old: readonly string[]) =>
  [
    "#<PID>          <type>          <reloads>       <uptime>        <version>",
    "41              master          2 [failed: 1]   0d00h02m08s     2.6.12",
    "# workers",
    "42              worker          0               0d00h00m23s     2.6.12",
    ...(old.length === 0 ? [] : ["# old workers", ...old]),
    "# programs",
    "",
  ].join("\n");

async function statusOf(rows: readonly string[], generation = "7") {
  const appliance = newAppliance(["tgt_1 10.0.0.1:80"]);
  await appliance.answer("master", (command) => (command === "show proc" ? processes() : ""));
  await appliance.answer("admin", (commands) =>
    commands.startsWith("show info")
      ? `${info}KULE_GENERATION=${generation}\n\n# ${columns.join(",")}\n${rows.join("\n")}\n\n`
      : "",
  );
  const { exitCode, output } = await appliance.call("status");
  expect(exitCode).toBe(0);
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(262_144);
  return JSON.parse(output) as Record<string, never> & { targets: Record<string, unknown>[] };
}

describe.skipIf(part.missing)("The status of a load balancer's machine", () => {
  test("without haproxy has its boot and nothing else", async () => {
    const { output } = await newAppliance().call("status");
    expect(JSON.parse(output)).toMatchObject({
      generation: null,
      worker_pid: null,
      listeners: [],
      targets: [],
    });
    expect(readStatus(output, new Map())).toMatchObject({ bootId: expect.any(String), role: null });
  });

  test("has no text that ends a string early, and numbers only where numbers are due", async () => {
    const hostile = `"","x":[{\\"\\u0000é\u0001 %worker`;
    const status = await statusOf(
      [
        row({
          pxname: "lsn_1",
          svname: "FRONTEND",
          bin: "-1",
          bout: "9".repeat(17),
          conn_tot: "007",
          req_tot: "1e5",
        }),
        row({
          pxname: `"${hostile.replaceAll('"', '""')}"`,
          svname: "tgt_1",
          status: "DOWN",
          check_code: "0x1F",
          lastchg: '"1,2"',
          last_chk: `"${hostile.replaceAll('"', '""')}"`,
        }),
        "%processes",
        "%former 1",
        row({ pxname: "lsn_2", svname: "FRONTEND" }).replace("FRONTEND", '"FRONT'),
        '"""""""',
      ],
      '7,"role":"master',
    );
    expect(status).toMatchObject({
      generation: null,
      worker_pid: 42,
      failed_reloads: 1,
      role: null,
      former: [],
      listeners: [
        {
          bytes_in: null,
          bytes_out: null,
          connections_total: null,
          requests_total: null,
          errors_total: null,
        },
      ],
    });
    expect(status.targets.map(({ server }) => server)).toEqual(["tgt_1", "?FRONT"]);
    expect(status.targets[0]).toMatchObject({
      server: "tgt_1",
      check_code: null,
      changed_seconds: null,
      last_check: hostile.replaceAll(/["\\]/g, "?").replace("é", "??").replace("\u0001", "?"),
    });
  });

  test("of more targets than there is room for begins with those that are not up, and counts the rest", async () => {
    const rows = Array.from({ length: 3_000 }, (_, index) =>
      row({
        pxname: `lsn_${"0".repeat(26)}`,
        svname: `tgt_${"0".repeat(26)}.srv_${index}`,
        status: index % 100 === 99 ? "DOWN" : "UP",
        last_chk: "x".repeat(500),
      }),
    );
    const status = await statusOf(rows);
    const downs = status.targets.filter((target) => target.status === "DOWN");
    expect(downs).toHaveLength(30);
    expect(status.targets.slice(0, 30)).toEqual(downs);
    expect(status.targets.length).toBeGreaterThan(500);
    expect(status).toMatchObject({ omitted_targets: 3_000 - status.targets.length, omitted_listeners: 0 });
  });

  test("has what a worker counted before a reload, and what old workers still count", async () => {
    const appliance = newAppliance();
    const counted = (bytes: string) =>
      `# ${columns.join(",")}\n${row({ pxname: "lsn_1", svname: "FRONTEND", bin: bytes, conn_tot: "4" })}\n\n`;
    for (const pid of [40, 42]) {
      await appliance.answer("admin", () => `Pid: ${pid}\n\n${counted(`${pid}000`)}`);
      await appliance.call("prepare");
      await appliance.silence();
    }
    await appliance.answer("admin", () => `${info}KULE_GENERATION=7\n\n${counted("5")}`);
    await appliance.answer("master", (command) =>
      command === "show proc" ? processes("40              worker  1  0d 2.6.12") : counted("41000"),
    );
    const { output } = await appliance.call("status");
    expect(readStatus(output, new Map([["lsn_1", new Set()]]))).toMatchObject({
      generation: 7,
      workerPid: 42,
      workerStarted: 1_795_710_654,
      oldWorkers: 1,
      connections: 3,
      mostConnections: 500,
      listeners: [{ listenerId: "lsn_1", bytesIn: 5, connectionsTotal: 4 }],
      former: [{ workerPid: 40, listenerId: "lsn_1", bytesIn: 41_000 }],
      dropped: 0,
    });
  });
});

const keepalived = (address: string) =>
  `vrrp_instance lb {\n    interface eth0\n    virtual_ipaddress {\n        ${address} dev eth0\n    }\n}\n`;

describe.skipIf(part.missing)("The check of a load balancer's generation", () => {
  async function checked(
    generation: string,
    {
      has = "7",
      worker = "42",
      proc = processes().replace("failed: 1", "failed: 0"),
      files = {},
      isActive = false,
    } = {},
  ) {
    const appliance = newAppliance();
    appliance.place(files);
    if (isActive) appliance.program("systemctl", "#!/bin/sh\n");
    await appliance.answer("master", () => proc);
    await appliance.answer("admin", () => `KULE_GENERATION=${has}\n\nName: HAProxy\nPid: ${worker}\n\n`);
    return appliance.call("check", generation);
  }
  const ha = { "keepalived/keepalived.conf": keepalived("10.0.0.5/24") };

  test("succeeds when the current worker has it, and keepalived runs where there are two machines", async () => {
    expect(await checked("7")).toEqual({ exitCode: 0, output: "", errors: "" });
    expect(await checked("7", { files: ha, isActive: true })).toMatchObject({ exitCode: 0 });
  });

  test.each([
    ["another is served", "8", {}, "serves generation 7, not 8"],
    ["a longer one is served", "7", { has: "77" }, "serves generation 77, not 7"],
    ["a reload has failed", "7", { proc: processes() }, "did not load its configuration"],
    ["an old worker answers", "7", { worker: "40" }, "is an old one"],
    ["the master does not answer", "7", { proc: "" }, "does not answer"],
    ["keepalived does not run", "7", { files: ha }, "keepalived does not run"],
  ])("fails when %s", async (_, generation, machine, why) => {
    const old = "# old workers\n40              worker          1               0d00h00m23s     2.6.12\n";
    const proc =
      (machine as { proc?: string }).proc ?? `${processes().replace("failed: 1", "failed: 0")}${old}`;
    const { exitCode, errors } = await checked(generation, { ...machine, proc });
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(why)]);
  });

  test.each([[""], ["x"], ["7;id"], ["-1"], ["1".repeat(16)]])("refuses %j", async (generation) => {
    expect(await newAppliance().call("check", generation)).toMatchObject({ exitCode: 2 });
  });
});

describe.skipIf(part.missing)("The role of a load balancer's machine", () => {
  /** @param own the addresses of the machine */
  async function roleWith(address: string, own: string, isActive = true): Promise<unknown> {
    const appliance = newAppliance();
    appliance.place({ "keepalived/keepalived.conf": keepalived(address) });
    if (isActive) appliance.program("systemctl", "#!/bin/sh\n");
    // As `ip -o address show to ADDRESS` answers.
    appliance.program("ip", `#!/bin/sh\n[ "$5" != "${own}" ] || echo "2: eth0 inet $5/24"\n`);
    const { output } = await appliance.call("status");
    return (JSON.parse(output) as { role: unknown }).role;
  }

  test("is master with the virtual address, backup without it, and none without keepalived", async () => {
    expect(await roleWith("10.0.0.5/24", "10.0.0.5")).toBe("master");
    expect(await roleWith("10.0.0.5/24", "10.0.0.6")).toBe("backup");
    expect(await roleWith("10.0.0.5/24", "10.0.0.5", false)).toBeNull();
    expect(await roleWith("$(id)", "$(id)")).toBeNull();
  });
});
