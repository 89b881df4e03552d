import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { GuestCommand, GuestEnd } from "@kule/proxmox/guest-agent";
import type { EffectContext, Owner } from "@kule/proxmox/hypervisor";
import type { GuestOf } from "../guest-state/guest-state.ts";

/** From the root of the tree. */
export const stateScript = "infra/images/guest-state/kule-state";
const source = readFileSync(resolve(import.meta.dirname, "../../../..", stateScript), "utf8");
/** The programs with which the script changes something: each call is a boundary at which it can be killed. */
const programs = ["chmod", "head", "ln", "mkdir", "mv", "rm", "tar", "timeout", "touch", "truncate"];

export const owner: Owner = { serverId: "srv_1", region: "lab1" };
export const noEffect: EffectContext = {
  jobId: "job_1",
  beforeCall: async () => {},
  afterObservation: async () => {},
  answered: async () => {},
  taskStarted: async () => {},
  stillRunning: async () => {},
  note: () => {},
} as unknown as EffectContext;

/**
 * A guest reduced to the script of the images, which this machine's own shell runs in a directory of its own. Its
 * `systemctl` writes down what it was asked for and, like the services, does nothing more.
 */
export class StateGuest implements GuestOf {
  readonly directory = mkdtempSync(join(tmpdir(), "kule-state-"));
  readonly vmid = 20_000;
  readonly owner = owner;
  /** The arguments of every call of the script, in their order. */
  readonly calls: string[][] = [];
  /** The script and everything that it has begun is killed before its program of this number, from 0. */
  killBefore: number | null = null;

  /**
   * @param isKillable its programs are counted, which makes each call slower
   * @param script another text of the script
   */
  constructor(isKillable = false, script = source) {
    mkdirSync(join(this.directory, "bin"));
    const bin = join(this.directory, "bin");
    this.#write("bin/systemctl", `#!/bin/sh\necho "$@" >> ${this.directory}/systemctl.log\n`);
    // Nothing here loses power, and a busy disk would make each call wait.
    this.#write("bin/sync", "#!/bin/sh\n");
    for (const name of isKillable ? programs : [])
      this.#write(
        `bin/${name}`,
        [
          "#!/bin/sh",
          `if [ -n "$KULE_COUNT" ]; then`,
          `  echo ${name} >> "$KULE_COUNT"`,
          // The whole group: also what the script waits for.
          `  if [ "$(/usr/bin/wc -l < "$KULE_COUNT")" -gt "$KULE_KILL" ]; then kill -9 0; fi`,
          "fi",
          `exec /usr/bin/${name} "$@"`,
          "",
        ].join("\n"),
      );
    const path = /^PATH=.*$/m;
    const root = /^root=.*$/m;
    if (!path.test(script) || !root.test(script)) throw new Error("the script has no PATH or no root");
    this.#write(
      "kule-state",
      script.replace(path, `PATH=${bin}:/usr/bin:/bin`).replace(root, `root=${this.directory}/root`),
    );
  }

  get hypervisor(): GuestOf["hypervisor"] {
    return { runInGuest: (_vmid, _owner, command) => this.#run(command) };
  }

  /** A file of the state in force, or null. */
  read(path: string): string | null {
    try {
      return readFileSync(join(this.directory, "root/current/files", path), "utf8");
    } catch {
      return null;
    }
  }

  /** What was asked of systemd, a line each. */
  units(): string[] {
    try {
      return readFileSync(join(this.directory, "systemctl.log"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Null when it was killed, as for a guest whose agent does not answer any more. */
  #run({ argv, input = "" }: GuestCommand): Promise<GuestEnd | null> {
    const [, ...args] = argv;
    this.calls.push([...args]);
    // As Proxmox limits it.
    if (input.length > 65_536) throw new Error("input-data is longer than 64 KiB");
    const count = join(this.directory, "count");
    rmSync(count, { force: true });
    const counting =
      this.killBefore === null ? {} : { KULE_COUNT: count, KULE_KILL: String(this.killBefore) };
    const child = spawn("/bin/sh", [join(this.directory, "kule-state"), ...args], {
      env: counting,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let output = "";
    let errors = "";
    child.stdout.on("data", (part) => {
      output += part;
    });
    child.stderr.on("data", (part) => {
      errors += part;
    });
    // It may be killed before it reads.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    return new Promise((done) => {
      child.once("close", (exitCode, signal) =>
        done(signal === null ? { exitCode: exitCode ?? -1, output, errors } : null),
      );
    });
  }

  #write(path: string, content: string): void {
    writeFileSync(join(this.directory, path), content);
    chmodSync(join(this.directory, path), 0o755);
  }
}
