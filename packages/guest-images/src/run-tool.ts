import { spawn } from "node:child_process";

/** The tools did not make a root file system; the message has the end of what they said. */
export class ImageBuildFailed extends Error {
  override name = "ImageBuildFailed";
}

const LAST_LINES = 12;

/**
 * Runs one of the programs that make images.
 *
 * @throws ImageBuildFailed
 */
export async function runTool(
  program: string,
  words: readonly string[],
  how: { readonly env: Record<string, string>; readonly cwd?: string; readonly say: (step: string) => void },
): Promise<void> {
  const env = { PATH: process.env.PATH, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive", ...how.env };
  const proxies = ["http_proxy", "https_proxy", "no_proxy"].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  const child = spawn(program, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...env, ...Object.fromEntries(proxies) },
    cwd: how.cwd,
  });
  const lines: string[] = [];
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split(/[\r\n]+/);
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      if (lines.length > LAST_LINES) lines.shift();
      const step = /^I: (.+)/.exec(line)?.[1];
      if (step !== undefined) how.say(step);
    }
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", (error) => reject(new ImageBuildFailed(`${program}: ${error.message}`)));
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(
          new ImageBuildFailed(
            `${program} ended with ${code ?? signal}:\n${[...lines, rest].join("\n").trim()}`,
          ),
        );
    });
  });
}
