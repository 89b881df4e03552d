import { readFileSync } from "node:fs";
import { migrate } from "@kule/database/migrate";
import { keyNames, keys } from "@kule/invariants/keys";
import { runChecks } from "@kule/invariants/run-checks";
import { type Pass, runPass } from "@kule/invariants/run-pass";
import pg from "pg";
import { type Installation, ownerClient } from "./installation.ts";
import { insertOldInstallation } from "./old-installation.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

/** The tables that the checks read. */
const tables = [
  "server",
  "nic",
  "address",
  "region_vmid",
  "region_vlan",
  "subnet",
  "job",
  "job_step",
  "audit",
  "usage_event",
  "usage_segment",
];
const rounds = 3;

/**
 * The invariants on an installation of so many servers: all checks at once as the tests run them, compared with reading
 * the tables once, and the worker's passes. In a database of its own: the rows that other measurements insert violate some
 * invariants.
 */
export async function invariantRows(installation: Installation, sizes: readonly number[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const servers of sizes) rows.push(...(await rowsOf(installation, servers)));
  return rows;
}

async function rowsOf(installation: Installation, servers: number): Promise<Row[]> {
  const administrator = await ownerClient(installation);
  const url = new URL(installation.ownerUrl);
  url.pathname = "/bench_invariants";
  await administrator.query("create database bench_invariants");
  try {
    await migrate(url.href);
    const owner = new pg.Client({ connectionString: url.href });
    await owner.connect();
    try {
      await insertOldInstallation(owner, servers);
      return [await measureWhole(owner, servers), ...(await measurePasses(owner, servers))];
    } finally {
      await owner.end();
    }
  } finally {
    await administrator.query("drop database bench_invariants with (force)");
    await administrator.end();
  }
}

async function measureWhole(owner: pg.Client, servers: number): Promise<Row> {
  const ours: number[] = [];
  const floor: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await secondsOf(owner, () => readOnce(owner)));
    ours.push(
      await secondsOf(owner, async () => {
        const results = await runChecks(owner, { subjectsPerCheck: 1 });
        const broken = results.filter(({ count }) => count > 0);
        if (broken.length > 0)
          throw new Error(broken.map(({ check, subjects }) => `${check}: ${subjects[0]}`).join("\n"));
      }),
    );
  }
  const ratio = median(ours) / median(floor);
  return {
    what: `all invariants, ${servers.toLocaleString("en")} servers`,
    ours: `${median(ours).toFixed(1)} s`,
    floor: `${median(floor).toFixed(1)} s to read the tables once`,
    ratio: ratio.toFixed(1),
    aim: "≤ 3",
    reached: ratio <= 3,
  };
}

/** Passes until every key that is to be read within a day has been. */
async function measurePasses(owner: pg.Client, servers: number): Promise<Row[]> {
  const { rows } = await owner.query<{ pid: number; now: string }>(
    "select pg_backend_pid() as pid, now()::text as now",
  );
  const [backend] = rows;
  if (backend === undefined) throw new Error("Postgres did not say which process answers");
  await owner.query("set max_parallel_workers_per_gather = 0");
  const seconds: number[] = [];
  let progress: Pass["progress"] = {};
  // The first pass without a former one reads the newest jobs, however old.
  let lastPassAt = backend.now;
  const daily = keyNames.filter((name) => keys[name].days === 1);
  while (daily.some((name) => (progress[name]?.complete_since ?? null) === null)) {
    const before = cpuSecondsOf(backend.pid);
    const pass = await runPass(owner, {
      ...{ progress, lastPassAt, open: [], intervalSeconds: 600, timeoutSeconds: 60 },
      onFailure: (_check, error) => {
        throw error;
      },
    });
    seconds.push(cpuSecondsOf(backend.pid) - before);
    progress = pass.progress;
    lastPassAt = pass.startedAt;
  }
  const what = `${servers.toLocaleString("en")} servers`;
  const sum = seconds.reduce((one, other) => one + other, 0);
  const aimSeconds = (30 * servers) / 1_000_000;
  return [
    {
      what: `a pass over the invariants, ${what}`,
      ours: `${median(seconds).toFixed(2)} s of a core, at most ${Math.max(...seconds).toFixed(2)} s`,
      floor: "1 s",
      ratio: median(seconds).toFixed(2),
      aim: "≤ 1",
      reached: median(seconds) <= 1,
    },
    {
      what: `a round of passes over the invariants, ${what}`,
      ours: `${sum.toFixed(1)} s of a core in ${seconds.length} passes`,
      floor: `${aimSeconds} s: 30 s for a million servers`,
      ratio: (sum / aimSeconds).toFixed(1),
      aim: "≤ 1",
      reached: sum <= aimSeconds,
    },
  ];
}

/** User and system time of a process, of Linux' hundredths of a second. */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function secondsOf(owner: pg.Client, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await owner.query("begin isolation level repeatable read read only");
  await work();
  await owner.query("commit");
  return (performance.now() - startedAt) / 1000;
}

async function readOnce(owner: pg.Client): Promise<void> {
  for (const table of tables) await owner.query(`select max(length(${table}::text)) from ${table}`);
}
