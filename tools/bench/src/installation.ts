import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { bundleApps } from "@kule/build/bundle-apps";
import { migrate } from "@kule/database/migrate";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData, startPostgres } from "@kule/postgres/launcher";
import pg from "pg";

const root = path.resolve(import.meta.dirname, "../../..");
const apiPassword = "bench";

/** Kule as it ships, on a Postgres of its own with fsync on. */
export type Installation = {
  readonly ownerUrl: string;
  readonly apiDatabaseUrl: string;
  /** The first replica's address and process, and all of them. */
  readonly api: {
    readonly url: string;
    readonly pid: number;
    readonly urls: readonly string[];
    readonly pids: readonly number[];
    readonly metricsUrls: readonly string[];
  };
  readonly organisationId: string;
  readonly organisationToken: string;
  readonly operatorToken: string;
  readonly agentToken: string;
  readonly environment: Readonly<Record<string, string>>;
  run(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    readyLine?: string,
  ): Promise<ChildProcess>;
  end(): Promise<void>;
};

/** @param replicas of the API */
export async function install(replicas = 1): Promise<Installation> {
  await bundleApps(["apps/api", "apps/agent", "packages/lab"]);
  const dataDir = mkdtempSync(path.join(tmpdir(), "kule-bench-"));
  const postgres = await startPostgres({ dataDir, port: await findFreePort(), log: () => {} });
  const children: ChildProcess[] = [];
  const run: Installation["run"] = async (args, env, readyLine) => {
    const child = spawn(process.execPath, [...args], {
      cwd: root,
      env: { PATH: process.env.PATH, NODE_ENV: "production", ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    if (readyLine !== undefined)
      await new Promise<void>((resolve, reject) => {
        child.stdout?.on("data", (chunk) => {
          if (String(chunk).includes(readyLine)) resolve();
        });
        child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}`)));
      });
    child.stdout?.resume();
    return child;
  };
  await migrate(postgres.ownerUrl, { apiPassword });
  const apiDatabase = new URL(postgres.ownerUrl);
  apiDatabase.username = "kule_api";
  apiDatabase.password = apiPassword;
  const ports = [await findFreePort()];
  while (ports.length < replicas) ports.push(await findFreePort());
  const environment = {
    KULE_DATABASE_URL: apiDatabase.href,
    KULE_OWNER_DATABASE_URL: postgres.ownerUrl,
    KULE_API_PORT: String(ports[0]),
    KULE_RATE_LIMIT_PER_HOUR: "1000000000",
    KULE_RATE_LIMIT_BURST: "1000000000",
    KULE_LOG_LEVEL: "error",
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["apps/api/dist/main.js", "seed"], {
    cwd: root,
    env: { PATH: process.env.PATH ?? "", ...environment },
  });
  const seeded = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, string>;
  const urls: string[] = [];
  const pids: number[] = [];
  const metricsUrls: string[] = [];
  for (const port of ports) {
    const metricsPort = await findFreePort();
    metricsUrls.push(`http://127.0.0.1:${metricsPort}/metrics`);
    const api = await run(["apps/api/dist/main.js", "serve"], {
      ...environment,
      KULE_API_PORT: String(port),
      KULE_API_METRICS_PORT: String(metricsPort),
    });
    const url = `http://127.0.0.1:${port}/api/v1`;
    for (;;) {
      const answer = await fetch(`${url}/readyz`).catch(() => null);
      if (answer?.ok) break;
      if (api.exitCode !== null) throw new Error("the API ended");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    urls.push(url);
    pids.push(api.pid ?? 0);
  }
  return {
    ownerUrl: postgres.ownerUrl,
    apiDatabaseUrl: apiDatabase.href,
    api: { url: urls[0] ?? "", pid: pids[0] ?? 0, urls, pids, metricsUrls },
    organisationId: seeded.organisation_id ?? "",
    organisationToken: seeded.organisation_token ?? "",
    operatorToken: seeded.operator_token ?? "",
    agentToken: seeded.agent_token ?? "",
    environment,
    run,
    async end() {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill("SIGKILL");
        await once(child, "exit");
      }
      await postgres.stop();
      removePostgresData(dataDir);
    },
  };
}

/** Resident memory of a process, in megabytes. */
export function residentMb(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) / 1024;
}

/** How many requests of an operation the API has answered with 200, by its own metrics. */
export async function answeredRequests({ api }: Installation, operation: string): Promise<number> {
  const line = new RegExp(`^kule_api_requests_total\\{operation="${operation}",status="200"\\} (\\d+)$`, "m");
  let count = 0;
  for (const url of api.metricsUrls) count += Number(line.exec(await (await fetch(url)).text())?.[1] ?? 0);
  return count;
}

/** A connection as the owner, for what no API call could prepare in time. */
export async function ownerClient(installation: Installation): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: installation.ownerUrl });
  // Postgres ends before a client that a failed row left open; the row's own error is the one to show.
  client.on("error", () => {});
  await client.connect();
  return client;
}
