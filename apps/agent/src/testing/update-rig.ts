// A folder that stands for a machine with an agent, and the updater on it. Versions are short scripts; the service manager is a
// stand-in that does with them what their script says, by a clock that moves when somebody waits.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Release } from "@kule/agent-release/release";
import type { CrashHook } from "@kule/crash-points/crash-hook";
import { BINARY_NAME, LAYOUT, UPDATE_FOLDER } from "../install/layout.ts";
import { type AgentRuntime, agentRuntime } from "../runtime.ts";
import { processStart } from "../status-file.ts";
import { applyUpdates } from "../update/apply-update.ts";
import { type MachineState, NO_STATE, readMachineState, writeMachineState } from "../update/machine-state.ts";
import { downloadedFile, KEYS_FILE, manifestFile, REQUEST_FILE } from "../update/request.ts";
import type { Service } from "../update/service.ts";
import { testSettings } from "../update/test-settings.ts";
import { linkTo, VersionFolders } from "../update/versions.ts";
import type { ServiceSight } from "../update/watch.ts";
import { Publisher } from "./publisher.ts";

/** What a version does once it runs, and when it is tried. */
export type Behaviour = {
  /** Seconds after its start at which its process ends by itself; never when left out. */
  readonly endsAfter?: number;
  readonly how?: string;
  /** It runs, and does nothing at all. */
  readonly hangs?: boolean;
  /** It takes no jobs, or reports no health, although the control plane answers. */
  readonly claimsNothing?: boolean;
  readonly reportsNothing?: boolean;
  /** What its --version prints, instead of its version. */
  readonly says?: string;
  /** Of its check-self. */
  readonly checkStatus?: number;
  /** Its whole file, instead of a script. */
  readonly file?: string;
};

const START_SECONDS = 2;
/** As the agent's first claim without a job. */
const CLAIM_SECONDS = 21;
/** Of systemd. */
const RESTART_SECONDS = 5;

/** The process was killed here. */
export type Run =
  | { readonly end: "done" | "locked" | "killed" }
  | { readonly end: "failed"; readonly error: Error };

export class UpdateRig {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "kule-update-")));
  readonly publisher = new Publisher();
  /** What was published, by version: nothing else may ever run. */
  readonly published = new Map<string, string>();
  readonly lines: string[] = [];
  /** The points at which the last run could have been killed. */
  trace: string[] = [];
  /** Whether the control plane answers. */
  isReachable = true;
  bootId = "boot-1";
  restarts = 0;
  /** When the service was last started, in milliseconds of uptime. */
  startedMs = 0;
  /** Of the updater at what it watches. */
  lookEveryMs = 5_000;
  /** Called at every look of the updater, with the time. */
  onLook: (nowMs: number) => void = () => {};
  #nowMs = 1_000_000;
  #requests = 0;
  /** What runs: read from its file when it was started. */
  #process: { readonly version: string; readonly does: Behaviour } | null = null;
  #stopped = false;
  #locked = false;

  constructor(version = "1.0.0") {
    for (const folder of [
      LAYOUT.versions,
      LAYOUT.update,
      dirname(LAYOUT.binary),
      join(LAYOUT.state, UPDATE_FOLDER),
    ])
      mkdirSync(join(this.root, folder), { recursive: true });
    this.installVersion(version);
    symlinkSync(linkTo(version, "bin"), join(this.root, LAYOUT.binary));
    symlinkSync(linkTo(version, "top"), join(this.root, LAYOUT.updater));
    writeMachineState(this.root, { ...NO_STATE, highest_version: version });
    this.service.restart();
    this.pass(60_000);
  }

  end(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  get uptimeMs(): number {
    return this.#nowMs;
  }

  get state(): MachineState {
    return readMachineState(this.root);
  }

  get current(): string | null {
    return new VersionFolders(this.root, () => {}).current();
  }

  get updater(): string | null {
    return new VersionFolders(this.root, () => {}).updater();
  }

  get versions(): string[] {
    return new VersionFolders(this.root, () => {}).list().sort();
  }

  at(path: string): string {
    return join(this.root, path);
  }

  inAgentFolder(name: string): string {
    return join(this.root, LAYOUT.state, UPDATE_FOLDER, name);
  }

  /** As a former installation has left it. */
  installVersion(version: string, does: Behaviour = {}): void {
    const folder = join(this.root, LAYOUT.versions, version);
    mkdirSync(folder, { recursive: true });
    const text = this.#script(version, does);
    writeFileSync(join(folder, BINARY_NAME), text);
    chmodSync(join(folder, BINARY_NAME), 0o755);
    this.published.set(version, text);
  }

  /** What the agent leaves when it asks for a version. */
  ask(version: string, does: Behaviour = {}, change: Partial<Release> = {}): string {
    const text = does.file ?? this.#script(version, does);
    this.published.set(version, text);
    const file = Buffer.from(text);
    mkdirSync(dirname(this.inAgentFolder("x")), { recursive: true });
    writeFileSync(this.inAgentFolder(downloadedFile(version)), file);
    writeFileSync(
      this.inAgentFolder(manifestFile(version)),
      JSON.stringify(this.publisher.sign(version, file, "x64", change)),
    );
    writeFileSync(this.inAgentFolder(KEYS_FILE), JSON.stringify({ envelopes: this.publisher.chain }));
    this.#requests += 1;
    const id = `request-${this.#requests}`;
    writeFileSync(this.inAgentFolder(REQUEST_FILE), JSON.stringify({ format: 1, id, version }));
    return id;
  }

  /** The unit, once: until it ends, or is killed when it has passed so many points, or at the point of this name. */
  async run(killAt: number | string = Number.POSITIVE_INFINITY): Promise<Run> {
    this.trace = [];
    const killed = Promise.withResolvers<Run>();
    const crashPoint: CrashHook = (name) => {
      this.trace.push(name);
      if (typeof killAt === "string" ? name !== killAt : this.trace.length <= killAt) return;
      // Nothing that comes after it ever happens: no catch, no finally.
      this.#locked = false;
      killed.resolve({ end: "killed" });
      return new Promise<void>(() => {});
    };
    const running = applyUpdates({
      root: this.root,
      builtIn: this.publisher.builtIn,
      architecture: "x64",
      service: this.service,
      machine: {
        bootId: this.bootId,
        uptimeMs: () => this.#nowMs,
        lock: () => {
          if (this.#locked) return null;
          this.#locked = true;
          return {
            release: () => {
              this.#locked = false;
            },
          };
        },
      },
      runtime: this.#runtime,
      crashPoint,
      limits: {
        ...testSettings.updaterLimits,
        lookEveryMs: this.lookEveryMs,
        askEveryMs: 30_000,
        watchMs: 600_000,
      },
      print: (line) => void this.lines.push(line),
    }).then(
      (end): Run => ({ end }),
      (error: unknown): Run => ({
        end: "failed",
        error: error instanceof Error ? error : new Error(String(error)),
      }),
    );
    return await Promise.race([running, killed.promise]);
  }

  /** As the timer does, until nothing is under way. */
  async runToEnd(most = 20): Promise<Run> {
    let run: Run = { end: "done" };
    for (let times = 0; times < most; times += 1) {
      run = await this.run();
      if (run.end !== "done" || this.state.phase === "idle") return run;
      this.pass(300_000);
    }
    return run;
  }

  pass(milliseconds: number): void {
    this.#nowMs += milliseconds;
    this.#live();
  }

  /** The machine starts again: systemd starts what the link leads to. */
  reboot(): void {
    this.bootId = `boot-${Number(this.bootId.slice(5)) + 1}`;
    this.#nowMs = 10_000;
    this.#start();
  }

  /** By an operator. */
  stopService(): void {
    this.#stopped = true;
  }

  /** What is broken; empty when everything is as it must be at every moment. */
  flaws(): string[] {
    const found: string[] = [];
    for (const [name, path] of [
      ["agent", LAYOUT.binary],
      ["updater", LAYOUT.updater],
    ] as const) {
      let real: string;
      try {
        real = realpathSync(join(this.root, path));
      } catch {
        found.push(`the link of the ${name} leads nowhere`);
        continue;
      }
      const version = basename(dirname(real));
      if (readFileSync(real, "utf8") !== this.published.get(version))
        found.push(`the link of the ${name} leads to a file that is not what was published as ${version}`);
    }
    const { phase, update } = this.state;
    if (phase !== "idle" && this.updater === update.to && this.updater !== update.from)
      found.push(`the updater is ${update.to}, which has not proven itself`);
    return found;
  }

  readonly service: Service = {
    restart: () => {
      this.restarts += 1;
      this.#stopped = false;
      this.#start();
    },
    sight: (): ServiceSight => {
      this.#live();
      if (this.#stopped) return { kind: "stopped" };
      const process_ = this.#process;
      if (process_ === null) return { kind: "crashed", how: "it cannot be started" };
      const { endsAfter, how = "it ended by itself" } = process_.does;
      const lasted = this.#nowMs - this.startedMs;
      return endsAfter !== undefined && lasted >= endsAfter * 1000
        ? { kind: "crashed", how: `${how}, and starts again after ${RESTART_SECONDS} s` }
        : { kind: "running", pid: process.pid };
    },
  };

  readonly #runtime: AgentRuntime = {
    ...agentRuntime,
    monotonic: () => this.#nowMs,
    pause: async (milliseconds: number) => {
      this.pass(milliseconds);
      this.onLook(this.#nowMs);
    },
  };

  #start(): void {
    this.startedMs = this.#nowMs;
    rmSync(join(this.root, LAYOUT.state, "status.json"), { force: true });
    const path = join(this.root, LAYOUT.binary);
    if (!existsSync(path)) {
      this.#process = null;
      return;
    }
    const [, text = ""] = /^# behaviour: (.*)$/m.exec(readFileSync(path, "utf8")) ?? [];
    this.#process = text === "" ? null : (JSON.parse(text) as { version: string; does: Behaviour });
  }

  /** What the process that runs has written by now. */
  #live(): void {
    const process_ = this.#process;
    if (process_ === null || this.#stopped) return;
    const { version, does } = process_;
    const seconds = (this.#nowMs - this.startedMs) / 1000;
    if (
      does.hangs === true ||
      seconds < START_SECONDS ||
      seconds >= (does.endsAfter ?? Number.POSITIVE_INFINITY)
    )
      return;
    const path = join(this.root, LAYOUT.state, "status.json");
    const before = existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>)
      : {};
    const healthy = this.isReachable && does.reportsNothing !== true;
    const claims = this.isReachable && does.claimsNothing !== true && seconds >= CLAIM_SECONDS;
    writeFileSync(
      path,
      JSON.stringify({
        version,
        pid: process.pid,
        process_start: processStart(process.pid),
        health_accepted_at: before.health_accepted_at ?? (healthy ? "now" : null),
        claim_answered_at: before.claim_answered_at ?? (claims ? "now" : null),
      }),
    );
    writeFileSync(join(this.root, "reachable"), this.isReachable ? "yes" : "no");
  }

  #script(version: string, does: Behaviour): string {
    return `#!/bin/sh
# behaviour: ${JSON.stringify({ version, does })}
case "$1" in
  --version) echo "${does.says ?? version}" ;;
  check-self) echo "checked"; exit ${does.checkStatus ?? 0} ;;
  reach) grep -q yes "${this.root}/reachable" ;;
esac
`;
  }
}
