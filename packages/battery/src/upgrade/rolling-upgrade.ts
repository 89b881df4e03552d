import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bundleApps } from "@kule/build/bundle-apps";
import { keepAssets } from "@kule/build/server-release/make-server-release";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { type CheckedProxy, startCheckedProxy } from "@kule/testing/rig/checked-proxy";
import { claimViolations, JobJournal, jobChangeViolations } from "@kule/testing/rig/job-journal";
import { viewOfControlServer } from "@kule/testing/world-check/region-invariants";
import { ServerLives } from "../delivery/server-lives.ts";
import { percentile } from "../judgement.ts";
import { worldViolations } from "../races/world-violations.ts";
import { UpgradeLoad } from "./load.ts";
import type { OtherBuild } from "./other-build.ts";
import { databaseOf } from "./upgrade-database.ts";

const root = resolve(import.meta.dirname, "../../../..");
/** What the proxy needs to notice, many times over. */
const STOP_DELAY_SECONDS = 1;
/** The delay, seven seconds for running requests, and a busy machine. */
const STOPS_WITHIN_SECONDS = 20;
const SETTLES_WITHIN_SECONDS = 120;

export type UpgradeSize = {
  /** Of each kind of client. */
  readonly clients: number;
  /** Of the API, one after the other. */
  readonly apis: number;
  /** With the panel and a person at it. */
  readonly hasPanel: boolean;
  /** Of load before, between and after the replacements. */
  readonly pauseMs: number;
};

export type UpgradeFindings = {
  readonly violations: string[];
  readonly figures: Record<string, number | string>;
};

type Builds = Pick<OtherBuild, "name" | "mains">;

/** The bundles of this tree, with the lines that a mutant leaves out. */
export async function ownBuild(hasPanel: boolean): Promise<Builds> {
  const apps = ["apps/api", "apps/agent", ...(hasPanel ? ["apps/console"] : [])];
  const [api = "", agent = "", console = ""] = (await bundleApps(apps)).map((path) => resolve(root, path));
  return { name: "this tree", mains: { api, agent, console } };
}

/**
 * Replaces every process of an installation by one of another build while it is used: migrates, then API, worker, panel and agent,
 * each new process beside the old one before that gets SIGTERM. Nobody may see an error, nothing may be lost or done twice.
 */
export async function rollingUpgrade(
  before: Builds,
  after: Builds,
  size: UpgradeSize,
  progress: (text: string) => void,
  way: "forward" | "back" = "forward",
): Promise<UpgradeFindings> {
  const database = await databaseOf(before.mains.api);
  const proxy = await startCheckedProxy({ check: "/api/v1/readyz" });
  const panelProxy = await startCheckedProxy({ check: "/healthz", elsewhere: "/assets/" });
  let world: RegionWorld | null = null;
  let lives: ServerLives | null = null;
  const panels: TestProcess[] = [];
  const folder = mkdtempSync(join(tmpdir(), "kule-upgrade-"));
  try {
    world = await startRegionWorld({
      // Room for all servers of the load: those of the last minutes are not destroyed yet.
      labSize: 4,
      database: database.database,
      builds: before.mains,
      leaseSeconds: 20,
      apiEnv: {
        KULE_STOP_DELAY_SECONDS: String(STOP_DELAY_SECONDS),
        KULE_CONSOLE_ORIGINS: panelProxy.origin,
        KULE_TRUSTED_PROXIES: "1",
      },
      links: { agentToApi: async () => proxy.origin },
    });
    lives = new ServerLives(world);
    const journal = await JobJournal.install(database.database.ownerUrl);
    const mains = size.hasPanel
      ? { ...after.mains, console: releasedPanel(before, after, folder) }
      : after.mains;
    const upgrade = new Upgrade({ world, proxy, panelProxy, panels, before, after: { mains } });
    await upgrade.begin(size);
    const load = new UpgradeLoad({
      apiOrigin: proxy.origin,
      panelOrigin: size.hasPanel ? panelProxy.origin : null,
      // A release has those of the one before, and not of the one after.
      hasAssets: way === "forward",
      operatorToken: world.operatorToken,
      person: world.users.organisation,
    });
    load.start(size.clients);
    await delay(size.pauseMs);
    const startedAt = performance.now();
    const migrated = await database.migrate(after.mains.api);
    progress(`migrated in ${migrated.seconds.toFixed(1)} s`);
    for (const step of upgrade.steps(size)) {
      await step.work();
      progress(
        `${step.what} replaced, ${load.accepted.size} servers, ${proxy.failures.length + load.errors.length} errors`,
      );
      await delay(size.pauseMs);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    await load.end();
    const endedAt = performance.now();
    const stuck = await lives.untilSettled(SETTLES_WITHIN_SECONDS);
    progress(
      `nothing is pending ${((performance.now() - endedAt) / 1000).toFixed(1)} s after the last request`,
    );
    const changes = await journal.changes();
    const violations = [
      ...migrated.violations,
      ...upgrade.violations,
      ...load.errors,
      ...proxy.failures.map((text) => `at the proxy: ${text}`),
      ...panelProxy.failures.map((text) => `at the panel's proxy: ${text}`),
      ...stuck,
      ...(await lives.failures()),
      ...(await misplaced(lives, load)),
      ...jobChangeViolations(changes),
      ...claimViolations(changes),
    ];
    if (stuck.length === 0)
      violations.push(
        ...(await worldViolations(database.database.ownerUrl, "after the upgrade", [
          await viewOfControlServer("lab1", world.labControlUrl),
        ])),
      );
    if (violations.length > 0) violations.push(`what the processes said:\n${world.outputs().slice(-4_000)}`);
    return {
      violations: firstOf(violations),
      figures: figuresOf(load, proxy, upgrade, migrated.seconds, seconds),
    };
  } finally {
    await lives?.close();
    await Promise.all(panels.map((panel) => panel.end("SIGKILL")));
    await world?.end();
    await proxy.close();
    await panelProxy.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The panel as `npm run server-release -- … --before …` makes it. */
function releasedPanel(before: Builds, after: Builds, folder: string): string {
  const released = join(folder, "console");
  cpSync(dirname(after.mains.console), released, { recursive: true });
  cpSync(join(root, "apps/console/package.json"), join(released, "package.json"));
  keepAssets(join(dirname(before.mains.console), "assets"), join(released, "assets"));
  return join(released, "main.js");
}

const mostShown = 40;
const firstOf = (violations: readonly string[]): string[] =>
  violations.length <= mostShown
    ? [...violations]
    : [...violations.slice(0, mostShown), `and ${violations.length - mostShown} more`];

/** What was accepted is there once, and nothing else is. */
async function misplaced(lives: ServerLives, load: UpgradeLoad): Promise<string[]> {
  const rows = await lives.rows<{ id: string; name: string; status: string }>(
    "select id, name, status from server",
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  return [
    ...[...load.accepted].flatMap(([id, name]) => {
      const server = found.get(id);
      if (load.deleted.has(id))
        return server?.status === "deleted" ? [] : [`${name} was deleted and is ${server?.status}`];
      if (server === undefined) return [`${name} was accepted as ${id} and is not there`];
      return server.status === "running" ? [] : [`${name} is ${server.status}`];
    }),
    ...rows
      .filter(({ id }) => !load.accepted.has(id))
      .map(({ id, name }) => `${name} is there as ${id}, and nobody was told`),
  ];
}

function figuresOf(
  load: UpgradeLoad,
  proxy: CheckedProxy,
  upgrade: Upgrade,
  migrateSeconds: number,
  seconds: number,
): Record<string, number | string> {
  const ms = (share: number) => percentile(load.milliseconds, share)?.toFixed(0) ?? "none";
  return {
    "requests at the proxy": [...proxy.statuses.values()].reduce((sum, count) => sum + count, 0),
    "requests that failed": proxy.failures.length + load.errors.length,
    "servers created": load.accepted.size,
    "servers deleted": load.deleted.size,
    "event streams": load.streams,
    "of these opened again": load.reopened,
    "pages of the panel": load.pages,
    "answer p50, p99 and longest in ms": `${ms(0.5)}, ${ms(0.99)}, ${Math.max(0, ...load.milliseconds).toFixed(0)}`,
    "migration in seconds": migrateSeconds.toFixed(1),
    "longest stop of a process in seconds": Math.max(0, ...upgrade.stopSeconds).toFixed(1),
    "upgrade in seconds": seconds.toFixed(0),
  };
}

type Parts = {
  readonly world: RegionWorld;
  readonly proxy: CheckedProxy;
  readonly panelProxy: CheckedProxy;
  readonly panels: TestProcess[];
  readonly before: Pick<OtherBuild, "mains">;
  readonly after: Pick<OtherBuild, "mains">;
};

/** The processes, old and new. */
class Upgrade {
  readonly violations: string[] = [];
  readonly stopSeconds: number[] = [];
  readonly #parts: Parts;
  readonly #apis: { readonly origin: string; readonly process: TestProcess }[] = [];
  #agent: TestProcess | null = null;
  #panel: { readonly origin: string; readonly process: TestProcess } | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async begin({ apis, hasPanel }: UpgradeSize): Promise<void> {
    const { world, proxy, before } = this.#parts;
    this.#apis.push({ origin: new URL(world.apiUrl).origin, process: world.api });
    for (let more = 1; more < apis; more += 1) this.#apis.push(await world.addApi());
    for (const { origin } of this.#apis) await proxy.added(origin);
    if (hasPanel) this.#panel = await this.#startPanel(before.mains.console);
    this.#agent = world.startAgent({ KULE_AGENT_CONCURRENCY: "8" }, { name: "before" });
  }

  *steps({ apis, hasPanel }: UpgradeSize): Generator<{ readonly what: string; work(): Promise<void> }> {
    for (let number = 1; number <= apis; number += 1)
      yield { what: `API ${number} of ${apis}`, work: () => this.#replaceApi() };
    yield { what: "worker", work: () => this.#replaceWorker() };
    if (hasPanel) yield { what: "panel", work: () => this.#replacePanel() };
    yield { what: "agent", work: () => this.#replaceAgent() };
  }

  async #replaceApi(): Promise<void> {
    const { world, proxy, after } = this.#parts;
    const successor = await world.addApi({}, after.mains.api);
    await proxy.added(successor.origin);
    const [old] = this.#apis.splice(0, 1);
    this.#apis.push(successor);
    if (old === undefined) throw new Error("there is no API to replace");
    await this.#stopped("the API", old.process);
    proxy.remove(old.origin);
  }

  async #replaceWorker(): Promise<void> {
    const { world, after } = this.#parts;
    const old = world.worker;
    const successor = world.startWorker({}, true, after.mains.api);
    await delay(1_000);
    if (!successor.running()) this.violations.push(`the new worker ended: ${successor.output().slice(-500)}`);
    await this.#stopped("the worker", old);
  }

  async #replacePanel(): Promise<void> {
    const old = this.#panel;
    this.#panel = await this.#startPanel(this.#parts.after.mains.console);
    if (old === null) return;
    await this.#stopped("the panel", old.process);
    this.#parts.panelProxy.remove(old.origin);
  }

  async #replaceAgent(): Promise<void> {
    const { world, after } = this.#parts;
    const old = this.#agent;
    this.#agent = world.startAgent(
      { KULE_AGENT_CONCURRENCY: "8" },
      { name: "after", main: after.mains.agent },
    );
    await delay(500);
    if (old !== null) await this.#stopped("the agent", old);
  }

  async #startPanel(main: string): Promise<{ readonly origin: string; readonly process: TestProcess }> {
    const { proxy, panelProxy, panels } = this.#parts;
    const port = await findFreePort();
    const origin = `http://127.0.0.1:${port}`;
    const process = startProcess("panel", [main], {
      KULE_API_URL: `${proxy.origin}/api/v1`,
      KULE_CONSOLE_PORT: String(port),
      KULE_CONSOLE_PUBLIC_URL: panelProxy.origin,
      KULE_CONSOLE_SECRET: "a-secret-of-the-tests-which-is-long-enough",
      KULE_CONSOLE_TRUSTED_PROXIES: "1",
      KULE_STOP_DELAY_SECONDS: String(STOP_DELAY_SECONDS),
    });
    panels.push(process);
    await untilReady(process, async () => ((await fetch(`${origin}/healthz`)).ok ? true : undefined));
    await panelProxy.added(origin);
    return { origin, process };
  }

  async #stopped(what: string, process: TestProcess): Promise<void> {
    const toldAt = performance.now();
    process.signal("SIGTERM");
    const end = await Promise.race([process.ended, delay(STOPS_WITHIN_SECONDS * 1000, null, { ref: false })]);
    this.stopSeconds.push((performance.now() - toldAt) / 1000);
    if (end === null) {
      this.violations.push(`${what} still ran ${STOPS_WITHIN_SECONDS} s after SIGTERM`);
      await process.end("SIGKILL");
    } else if (end.code !== 0)
      this.violations.push(`${what} ended with ${end.signal ?? end.code} after SIGTERM`);
  }
}
