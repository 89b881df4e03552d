import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const startMilliseconds = 30_000;
const askMilliseconds = 10_000;

/**
 * Starts haproxy with the configuration, and answers the proxies and servers that it has: `lsn_…/FRONTEND`, `lsn_…/tgt_…`.
 *
 * @param place the files of a state
 */
export async function proxiesOf(place: string): Promise<string[]> {
  const run = join(place, "run");
  mkdirSync(run);
  const file = join(place, "haproxy/haproxy.cfg");
  const text = readFileSync(file, "utf8")
    .replaceAll("/run/kule-lb/", `${run}/`)
    .replaceAll(/^ {4}(user|group|chroot) .*\n/gm, "");
  writeFileSync(file, text);
  const haproxy = spawn("/usr/sbin/haproxy", ["-db", "-f", "haproxy/haproxy.cfg"], { cwd: place });
  let said = "";
  for (const stream of [haproxy.stdout, haproxy.stderr])
    stream.on("data", (part) => {
      said += part;
    });
  const ended = new Promise((done) => haproxy.once("close", done));
  try {
    for (const deadline = performance.now() + startMilliseconds; ; await delay(50)) {
      const answer = await asked(join(run, "admin.sock"), "show stat -1 7 -1").catch(() => null);
      if (answer !== null) return readProxies(answer);
      if (haproxy.exitCode !== null || performance.now() > deadline)
        throw new Error(`haproxy does not run: ${said.slice(-1_000)}`);
    }
  } finally {
    haproxy.kill("SIGKILL");
    await ended;
  }
}

function asked(socket: string, command: string): Promise<string> {
  return new Promise((done, fail) => {
    const connection = connect(socket, () => connection.write(`${command}\n`));
    let answer = "";
    connection.setTimeout(askMilliseconds, () => connection.destroy(new Error("haproxy does not answer")));
    connection.on("data", (part) => {
      answer += part;
    });
    connection.once("end", () => done(answer));
    connection.once("error", fail);
  });
}

const readProxies = (answer: string): string[] =>
  answer
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split(",").slice(0, 2).join("/"));
