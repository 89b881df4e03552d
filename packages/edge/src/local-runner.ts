import { spawn } from "node:child_process";
import { type Command, type CommandResult, EdgeUnreachable, type Runner } from "./runner.ts";

/** The agent runs on the edge itself. */
export class LocalRunner implements Runner {
  readonly #timeoutMs: number;

  constructor(timeoutMs = 30_000) {
    this.#timeoutMs = timeoutMs;
  }

  run({ words, input }: Command, signal?: AbortSignal): Promise<CommandResult> {
    const [program, ...more] = words;
    return new Promise((resolve, reject) => {
      const child = spawn(program, more, { stdio: "pipe", env: { PATH: process.env.PATH, LC_ALL: "C" } });
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr += text;
      });
      const end = (why: string) => {
        child.kill("SIGKILL");
        reject(new EdgeUnreachable(`${words.join(" ")} ${why}`));
      };
      const timer = setTimeout(() => end(`did not end in ${this.#timeoutMs / 1000} s`), this.#timeoutMs);
      const aborted = () => end("was called off");
      if (signal?.aborted === true) return aborted();
      signal?.addEventListener("abort", aborted, { once: true });
      child.once("error", (error) =>
        reject(new EdgeUnreachable(`${program} cannot be run`, { cause: error })),
      );
      child.once("close", (code) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        resolve({ code: code ?? -1, stdout, stderr });
      });
      child.stdin.on("error", () => {});
      child.stdin.end(input ?? "");
    });
  }
}
