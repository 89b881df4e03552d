import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import type { Bundle } from "@kule/programs/guest-state/bundle";

/** haproxy is where only root looks. */
const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
/** As long as a guest gives it. haproxy 2.6 reads some wrong lists for ever. */
const longestSeconds = 15;
/** Before a machine's first start there is no state of servers yet. */
const expectedWarning = /Can't open global server state file/;

/** A machine's state as its guest unpacks it. */
export class UnpackedState {
  readonly #folder = mkdtempSync(join(tmpdir(), "kule-balancer-"));

  /** What was sent before is gone. */
  unpack({ text }: Pick<Bundle, "text">): void {
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder);
    const { status, stderr } = spawnSync("tar", ["-xzf", "-", "-C", this.#folder], {
      env,
      input: Buffer.from(text, "base64"),
    });
    if (status !== 0) throw new Error(`the state cannot be unpacked: ${stderr}`);
  }

  /** Where its programs find its files. */
  get place(): string {
    return join(this.#folder, "files");
  }

  /** The text of every file by its path. */
  files(): ReadonlyMap<string, string> {
    const entries = readdirSync(this.place, { recursive: true, withFileTypes: true });
    return new Map(
      entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => [relative(this.place, path), readFileSync(path, "utf8")]),
    );
  }

  /** Why the guest would not take it: what the state's own check says, warnings included. */
  async refusal(): Promise<string | null> {
    const words = ["--kill-after=1", String(longestSeconds), "/bin/sh", "../validate"];
    const child = spawn("timeout", words, { cwd: this.place, env });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part) => {
        said += part;
      });
    const code = await new Promise((done) => child.once("close", done));
    const complaints = said
      .split("\n")
      .filter((line) => /\[(ALERT|WARNING)\]/.test(line) && !expectedWarning.test(line));
    return code === 0 && complaints.length === 0 ? null : `${code}: ${complaints.join("; ")}`;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
