import { migrate } from "@kule/database/migrate";
import { type CheckResult, runChecks } from "@kule/invariants/run-checks";
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
 * All checks of the invariants on an installation of this many servers, compared with reading its tables
 * once. In a database of its own: the rows that other measurements insert violate some invariants.
 */
export async function invariantsRow(installation: Installation, servers: number): Promise<Row> {
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
      return await measure(owner, servers);
    } finally {
      await owner.end();
    }
  } finally {
    await administrator.query("drop database bench_invariants with (force)");
    await administrator.end();
  }
}

async function measure(owner: pg.Client, servers: number): Promise<Row> {
  const ours: number[] = [];
  const floor: number[] = [];
  let slowest: CheckResult | undefined;
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await secondsOf(owner, () => readOnce(owner)));
    ours.push(
      await secondsOf(owner, async () => {
        const results = await runChecks(owner, { subjectsPerCheck: 1 });
        const broken = results.filter(({ count }) => count > 0);
        if (broken.length > 0)
          throw new Error(broken.map(({ check, subjects }) => `${check}: ${subjects[0]}`).join("\n"));
        slowest = results.toSorted((one, other) => other.durationMs - one.durationMs)[0];
      }),
    );
  }
  const ratio = median(ours) / median(floor);
  return {
    what: `all invariants, ${servers.toLocaleString("en")} servers`,
    ours: `${median(ours).toFixed(1)} s, the slowest check ${((slowest?.durationMs ?? 0) / 1000).toFixed(1)} s`,
    floor: `${median(floor).toFixed(1)} s to read the tables once`,
    ratio: ratio.toFixed(1),
    aim: "≤ 3",
    reached: ratio <= 3,
  };
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
