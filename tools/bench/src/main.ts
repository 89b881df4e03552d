// The speed table: Kule compared with the least that could do the same, in one run on one machine.

import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { install } from "./installation.ts";
import { bundleRows } from "./row-bundles.ts";
import { commitRow, subnetsRow } from "./row-commit.ts";
import { consoleRow } from "./row-console.ts";
import { cpuRows } from "./row-cpu.ts";
import { createRow } from "./row-create.ts";
import { endToEndRows } from "./row-end-to-end.ts";
import { invariantRows } from "./row-invariants.ts";
import { busyNeighbourRow, claimRows, notifyRow } from "./row-jobs.ts";
import { kindRows } from "./row-kinds.ts";
import { everyListRow } from "./row-lists.ts";
import { loadBalancerRow } from "./row-load-balancer.ts";
import { lockRows } from "./row-locks.ts";
import { memoryAtRest, memoryUnderLoad } from "./row-memory.ts";
import { quotaRow } from "./row-quotas.ts";
import { listRows, readRows } from "./row-reads.ts";
import { startRows } from "./row-start.ts";
import { wireRows } from "./row-wire.ts";
import { type Row, renderTable } from "./table.ts";
import { writeTable } from "./written-table.ts";

const usage = `npm run bench                                a few minutes
npm run bench -- --full                      longer, and lists of a million servers
npm run bench -- --replicas 2                through two replicas of the API
npm run bench -- --only reads --only claims  these rows

A run of all rows writes its table into docs/bench.md.`;
const values = readOptions();
const seconds = values.full ? 15 : 6;
const replicas = Number(values.replicas);
if (!Number.isSafeInteger(replicas) || replicas < 1 || replicas > 8) {
  process.stderr.write(`--replicas is a number from 1 to 8\n\n${usage}\n`);
  process.exit(2);
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: "boolean", default: false },
        full: { type: "boolean", default: false },
        replicas: { type: "string", default: "1" },
        only: { type: "string", multiple: true },
      },
    });
    if (!values.help) return values;
    process.stdout.write(`${usage}\n`);
    process.exit();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}\n`);
    process.exit(2);
  }
}

const progress = (text: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

progress("starting Postgres (fsync on) and the API as it ships");
const installation = await install(replicas);
const rows: Row[] = [];
try {
  const steps: [string, () => Promise<Row | Row[]>][] = [
    ["bundles", () => bundleRows()],
    ["memory under npm start", () => startRows()],
    ["memory at rest", () => memoryAtRest(installation)],
    // Before the rows that flood it: what they leave on the heap is not what 500 requests a second need.
    ["memory under load", () => memoryUnderLoad(installation, seconds)],
    ["reads", () => readRows(installation, seconds)],
    ["lists", () => listRows(installation, values.full ? [100, 10_000, 1_000_000] : [100, 10_000, 100_000])],
    ["the panel", () => consoleRow(installation, 10_000)],
    ["creates", () => createRow(installation, seconds)],
    ["round trips", () => wireRows(installation)],
    ["creates and commits", () => commitRow(installation, seconds)],
    ["creates in one subnet", () => subnetsRow(installation, seconds)],
    ["locks", () => lockRows(installation, seconds)],
    ["CPU", () => cpuRows(installation, seconds)],
    ["creates with quotas", () => quotaRow(installation, seconds, 100_000)],
    ["claims", () => claimRows(installation, values.full ? 5000 : 1500)],
    ["a claim beside a long queue", () => busyNeighbourRow(installation, 100_000)],
    ["waking a waiting agent", () => notifyRow(installation, 60)],
    ["end to end", () => endToEndRows(installation, 30)],
    ["every kind of job", () => kindRows(installation, values.full ? 20 : 5)],
    ["a load balancer", () => loadBalancerRow(seconds)],
    ["every list", () => everyListRow(installation, values.full ? 1_000_000 : 100_000, progress)],
    [
      "invariants",
      () => invariantRows(installation, values.full ? [100_000, 300_000, 1_000_000] : [100_000]),
    ],
  ];
  const unknown = values.only?.filter((name) => !steps.some(([known]) => known === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`no row ${unknown.join(", ")}; there are: ${steps.map(([name]) => name).join(", ")}`);
  for (const [name, measure] of steps) {
    if (values.only !== undefined && !values.only.includes(name)) continue;
    progress(name);
    rows.push(...[await measure()].flat());
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await installation.end();
}
const machine = `${availableParallelism()} cores, Node ${process.versions.node}, ${replicas} API`;
process.stdout.write(
  `\n${renderTable(rows)}\n\n${machine}. Ratios are within this run; docs/bench.md says how to read them.\n`,
);
if (values.only === undefined && process.exitCode === undefined) writeTable(rows, replicas, machine);
