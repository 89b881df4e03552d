import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { probePebble } from "@kule/lab/certificate-authority/pebble-daemon";
import { isStillRunning, type ProcessIdentity } from "@kule/postgres/process-identity";
import { afterEach, describe, expect, test } from "vitest";
import { untilReady } from "../child-process.ts";
import { withDescendants } from "../descendants.ts";
import { QuickstartHome } from "../quickstart-home.ts";

const root = resolve(import.meta.dirname, "../../../..");

let quickstart: QuickstartHome | undefined;
const cleanUps: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  await quickstart?.close();
  quickstart = undefined;
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function missingParts(): Promise<unknown> {
  const answer = await fetch(`${quickstart?.file().api_url}/readyz`).catch(() => null);
  return answer?.ok === true ? ((await answer.json()) as { missing: unknown }).missing : "no answer";
}

const isEmpty = (list: unknown) => Array.isArray(list) && list.length === 0;
const soon = { timeout: 30_000, interval: 20 };

test("a part that is not awaited is restarted however often it exits, with a log line each time", {
  timeout: 240_000,
}, async () => {
  const home = await QuickstartHome.open();
  quickstart = home;
  const run = home.start();
  await home.untilServing(run);
  const killRepeatedly = async (name: string) => {
    for (let deaths = 1; deaths <= 4; deaths += 1) {
      const pid = home.pidOf(name);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => home.processes().get(name) ?? pid, soon).not.toBe(pid);
      const said = new RegExp(`${name} ended \\(SIGKILL\\); restarting`, "g");
      for (const text of [run.output(), home.log("start")]) expect(text.match(said)).toHaveLength(deaths);
    }
  };
  await Promise.all(["worker", "agent"].map(killRepeatedly));
  await expect.poll(missingParts, soon).toEqual([]);
});

test("no process that keeps running is given the URL of the database's owner", {
  timeout: 240_000,
}, async () => {
  quickstart = await QuickstartHome.open();
  await quickstart.untilServing(quickstart.start());
  const roles = new Map<string, string[]>();
  for (const [name, pid] of quickstart.processes()) {
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
    roles.set(
      name,
      [...environment.matchAll(/postgres(?:ql)?:\/\/([^:@/]+)/g)].map(([, role]) => role ?? ""),
    );
  }
  expect(Object.fromEntries(roles)).toEqual({
    supervisor: [],
    postgres: [],
    lab: [],
    dns: [],
    ...(probePebble() === undefined ? { ca: [] } : {}),
    api: ["kule_api"],
    worker: ["kule_api", "kule_worker"],
    console: [],
    agent: [],
  });
});

const mayMount = process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;

test.runIf(mayMount)(
  "a disk that was full for a while ends nothing permanently",
  { timeout: 300_000 },
  async () => {
    const disk = mkdtempSync(join(tmpdir(), "kule-full-disk-"));
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=300m,mode=755", "tmpfs", disk]).status).toBe(0);
    cleanUps.push(() => {
      spawnSync("umount", ["--lazy", disk]);
      rmSync(disk, { recursive: true });
    });
    const directory = join(disk, "home");
    mkdirSync(directory);
    const home = await QuickstartHome.open(directory);
    quickstart = home;
    const run = home.start();
    await home.untilServing(run);
    const filler = join(directory, "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"]);

    // Postgres cannot start without disk space, and nothing else can continue without Postgres.
    for (const name of ["worker", "agent", "lab", "postgres"]) process.kill(home.pidOf(name), "SIGKILL");
    const tried = () => run.output().match(/no space left on device, write Starting it again/g)?.length ?? 0;
    await expect.poll(tried, soon).toBeGreaterThanOrEqual(4);
    expect(run.running()).toBe(true);
    rmSync(filler);

    await untilReady(run, async () => (isEmpty(await missingParts()) ? true : undefined), 60_000);
    const { api_url, organisation_token } = home.file();
    const headers = { authorization: `Bearer ${organisation_token}`, "content-type": "application/json" };
    const body = JSON.stringify({ name: "after", image: "debian-12", package: "s" });
    const answer = await fetch(`${api_url}/servers`, { method: "POST", headers, body });
    expect(answer.status).toBe(202);
    const { job } = (await answer.json()) as { job: { id: string } };
    await expect
      .poll(
        async () => {
          const found = await fetch(`${api_url}/jobs/${job.id}`, { headers });
          return ((await found.json()) as { status: string }).status;
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe("succeeded");
  },
);

describe("a signal to one process of `npm start`", () => {
  const viaNpm = ["npm", ["start"]] as const;
  const viaNode = [process.execPath, ["tools/run.mjs", "start"]] as const;
  const whenServing = () => existsSync(join(quickstart?.directory ?? "", "first-server.json"));
  const whenPostgresBegins = () => quickstart?.processes().has("postgres") === true;
  const cases = [
    { signal: "SIGTERM", to: "npm", command: viaNpm, when: "it serves", moment: whenServing },
    { signal: "SIGINT", to: "npm", command: viaNpm, when: "Postgres begins", moment: whenPostgresBegins },
    { signal: "SIGKILL", to: "npm", command: viaNpm, when: "Postgres begins", moment: whenPostgresBegins },
    { signal: "SIGINT", to: "run.mjs", command: viaNode, when: "it serves", moment: whenServing },
    {
      signal: "SIGTERM",
      to: "run.mjs",
      command: viaNode,
      when: "Postgres begins",
      moment: whenPostgresBegins,
    },
  ] as const;

  test.for(cases)("$signal to $to when $when ends everything", { timeout: 300_000 }, async (one) => {
    const home = await QuickstartHome.open();
    quickstart = home;
    const [program, args] = one.command;
    const child = start(program, args, home.env);
    await expect.poll(one.moment, { timeout: 150_000, interval: 20 }).toBe(true);
    const all = withDescendants(child.pid ?? 0);
    // What was started, the supervisor and Postgres.
    expect(all.length).toBeGreaterThanOrEqual(3);
    child.kill(one.signal);
    await expect.poll(() => commandsOf(all), { timeout: 15_000, interval: 50 }).toEqual([]);
    expect(commandsOf(all.concat(leftovers(home)))).toEqual([]);
  });

  function start(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): ChildProcess {
    // A process group of its own, as of a supervisor's service: no other process gets the signal.
    const child = spawn(program, [...args], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      stdio: "ignore",
      detached: true,
    });
    cleanUps.push(() => {
      for (const { pid } of withDescendants(child.pid ?? 0)) process.kill(pid, "SIGKILL");
    });
    return child;
  }

  /** The processes that the run recorded after the signal. */
  function leftovers(home: QuickstartHome): ProcessIdentity[] {
    return [...home.processes().values()].flatMap((pid) => withDescendants(pid));
  }

  function commandsOf(processes: readonly ProcessIdentity[]): string[] {
    return processes.filter(isStillRunning).map(({ pid }) => {
      const { stdout } = spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
      return stdout.trim().slice(0, 200);
    });
  }
});
