import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData } from "@kule/postgres/launcher";
import { identifyProcess, isStillRunning, type ProcessIdentity } from "@kule/postgres/process-identity";
import { startProcess, type TestProcess, untilReady } from "./child-process.ts";

export const quickstartMain = resolve(import.meta.dirname, "../../../tools/quickstart/src/main.ts");

export interface QuickstartFile {
  api_url: string;
  console_url: string;
  operator_token: string;
  organisation_token: string;
  agent_token: string;
  lab_pve_url: string;
  dns_server: string;
  registrar_url: string;
  registrar_key: string;
  users: Record<"operator" | "organisation", { email: string; password: string }>;
}

/** A directory of its own for `npm start`, with ports of its own, and what can be seen of what runs there. */
export class QuickstartHome {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly #runs: TestProcess[] = [];

  private constructor(directory: string, env: Record<string, string>) {
    this.directory = directory;
    this.env = env;
  }

  /** @param directory created, and removed at the end, when none is given */
  static async open(
    directory = mkdtempSync(join(tmpdir(), "kule-quickstart-")),
    changes: Record<string, string> = {},
  ): Promise<QuickstartHome> {
    chmodSync(directory, 0o755);
    const [api, console, lab, dns] = await Promise.all([
      findFreePort(),
      findFreePort(),
      findFreePort(),
      findFreePort(),
    ]);
    return new QuickstartHome(directory, {
      HOME: process.env.HOME ?? "/",
      KULE_HOME: directory,
      KULE_API_PORT: String(api),
      KULE_CONSOLE_PORT: String(console),
      KULE_LAB_PORT: String(lab),
      KULE_LAB_DNS_PORT: String(dns),
      KULE_LAB_TIME_SCALE: "0",
      ...changes,
    });
  }

  /** Starts what `npm start` runs, without npm. */
  start(changes: Record<string, string> = {}, args: readonly string[] = []): TestProcess {
    const run = startProcess("npm start", [quickstartMain, ...args], { ...this.env, ...changes });
    this.#runs.push(run);
    return run;
  }

  async untilServing(run: TestProcess, timeoutMs = 150_000): Promise<void> {
    await untilReady(run, async () => (run.output().includes("Ctrl-C stops") ? true : undefined), timeoutMs);
  }

  file(): QuickstartFile {
    return JSON.parse(readFileSync(join(this.directory, "quickstart.json"), "utf8"));
  }

  /**
   * Every running process of the run, by the names under which it recorded them; Postgres by its own file.
   */
  processes(): Map<string, number> {
    const found = new Map<string, ProcessIdentity>();
    try {
      const record = JSON.parse(readFileSync(join(this.directory, "run.json"), "utf8"));
      found.set("supervisor", record.supervisor);
      for (const [name, noted] of Object.entries<ProcessIdentity>(record.children)) found.set(name, noted);
    } catch {}
    const postgres = this.#postgres();
    if (postgres !== undefined) found.set("postgres", postgres);
    return new Map(
      [...found].filter(([, noted]) => isStillRunning(noted)).map(([name, { pid }]) => [name, pid]),
    );
  }

  #postgres(): ProcessIdentity | undefined {
    try {
      const file = join(this.directory, "postgres/pgdata/postmaster.pid");
      return identifyProcess(Number(readFileSync(file, "utf8").split("\n")[0]));
    } catch {
      return undefined;
    }
  }

  pidOf(name: string): number {
    const pid = this.processes().get(name);
    if (pid === undefined) throw new Error(`${name} does not run`);
    return pid;
  }

  log(name: string): string {
    return readFileSync(join(this.directory, "logs", `${name}.log`), "utf8");
  }

  killEverything(): void {
    for (const pid of this.processes().values()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {}
    }
  }

  /** Ends all runs and removes what they wrote. */
  async close(): Promise<void> {
    for (const run of this.#runs) await run.end("SIGTERM");
    this.killEverything();
    removePostgresData(join(this.directory, "postgres"));
    rmSync(this.directory, { recursive: true, force: true });
  }
}
