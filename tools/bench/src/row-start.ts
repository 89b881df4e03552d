import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData } from "@kule/postgres/launcher";
import { startProcess, untilReady } from "@kule/testing/child-process";
import { residentMb } from "./installation.ts";
import { memoryRow } from "./row-memory.ts";
import type { Row } from "./table.ts";

const root = resolve(import.meta.dirname, "../../..");
/** After its own first server there is nothing left to do. */
const settleMs = 10_000;
const commands = { API: "apps/api/dist/main.js serve", worker: "apps/api/dist/main.js worker" };

/** The resident memory of the API and of the worker that `npm start` starts, a while after its first server. */
export async function startRows(): Promise<Row[]> {
  const directory = mkdtempSync(join(tmpdir(), "kule-bench-start-"));
  const [api, console, lab, dns] = await Promise.all([
    findFreePort(),
    findFreePort(),
    findFreePort(),
    findFreePort(),
  ]);
  const run = startProcess("npm start", [join(root, "tools/quickstart/src/main.ts")], {
    HOME: process.env.HOME ?? "/",
    KULE_HOME: join(directory, ".kule"),
    KULE_API_PORT: String(api),
    KULE_CONSOLE_PORT: String(console),
    KULE_LAB_PORT: String(lab),
    KULE_LAB_DNS_PORT: String(dns),
  });
  try {
    await untilReady(run, async () => (run.output().includes("Ctrl-C stops") ? true : undefined), 300_000);
    await delay(settleMs);
    return Object.entries(commands).map(([name, command]) =>
      memoryRow(`${name} memory under npm start`, residentMb(childWith(run.pid, command)), 130),
    );
  } finally {
    await run.end("SIGTERM");
    removePostgresData(join(directory, ".kule/postgres"));
    rmSync(directory, { recursive: true, force: true });
  }
}

/** @throws Error when no child of the process was started with these words */
function childWith(pid: number, words: string): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  const child = children.find((each) =>
    readFileSync(`/proc/${each}/cmdline`, "utf8").replaceAll("\0", " ").includes(words),
  );
  if (child === undefined) throw new Error(`npm start has no child process ${words}`);
  return Number(child);
}
