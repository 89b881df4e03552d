import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { bundleApps } from "@kule/build/bundle-apps";
import { type ApiClient, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { type Effects, effects } from "@kule/lab/effects";
import { readJournal } from "@kule/lab/journal";
import { probeWires } from "@kule/lab/wires/wires";
import { findFreePort } from "@kule/postgres/free-port";
import type { SeededAccount } from "@kule/quickstart/seed";
import { startProcess, type TestProcess, untilReady } from "./child-process.ts";
import { type FreshDatabase, freshDatabase } from "./database.ts";
import { type LabEdge, renderLabRegionFile } from "./lab-region-file.ts";

/** The key with which the panel's own processes of the tests state their visitors' addresses. */
const consoleKey = "a-key-of-the-tests-which-is-long-enough";

const root = path.resolve(import.meta.dirname, "../../..");

export type WorldOptions = {
  /** Seconds of a claim's lease without a report. Default 2, so that a crash is recovered from quickly. */
  readonly leaseSeconds?: number;
  /** Seconds between deleting a server and destroying it. Default 0. */
  readonly removalBufferSeconds?: number;
  /** 0: the hypervisor's tasks take no time; 1: as long as real ones. Default 0. */
  readonly labTimeScale?: number;
  /** How many times as much room there is as usual: for some 500 servers. */
  readonly labSize?: number;
  /** Of the API and the worker. */
  readonly apiEnv?: Readonly<Record<string, string>>;
  /** A migrated database to use instead of a fresh one; its owner drops it. */
  readonly database?: FreshDatabase;
  readonly links?: WorldLinks;
  /**
   * Its machines have a network of real packets, an edge between them and an internet with {@link outside} in
   * it. Needs what {@link probeWorldWires} checks for.
   */
  readonly hasWires?: boolean;
  /** Folders of root file systems by the names of templates whose servers really boot. Needs wires. */
  readonly realGuests?: Readonly<Record<string, string>>;
  /** An edge next to the lab: then it has none with wires of its own. */
  readonly edge?: LabEdge;
  /** Bundles of another build to begin with, by their paths; those of this tree for what is left out. */
  readonly builds?: WorldBuilds;
  /** `direct`: the worker drives the lab, and there is no agent. Default `agent`. */
  readonly mode?: "agent" | "direct";
};

/** Paths of an app's `main.js`. */
export type WorldBuilds = {
  readonly api?: string;
  readonly agent?: string;
};

/**
 * Proxies between the processes. Each gets the callee's address and returns the address for the caller; it is
 * closed by its creator, after the world's end.
 */
export type WorldLinks = {
  /** From an origin like http://127.0.0.1:8080 to another. */
  readonly agentToApi?: (origin: string) => Promise<string>;
  /** From a connection string to another; for the API and not for the worker or the tests themselves. */
  readonly apiToPostgres?: (databaseUrl: string) => Promise<string>;
  readonly agentToLab?: (lab: LabPlace) => Promise<LabPlace>;
};

/** Where a lab listens (an https origin), and the certificate that it shows. */
export type LabPlace = { readonly url: string; readonly fingerprint256: string };

export type AgentPlaces = {
  /** Origin of the API this agent talks to. */
  readonly apiOrigin?: string;
  readonly lab?: LabPlace;
  readonly edge?: LabEdge;
  /** Its name at the control plane; the machine's name when absent. */
  readonly name?: string;
  /** Of another build. */
  readonly main?: string;
};

/** Kule as it runs: API, worker, lab and agents as separate processes on a real Postgres. */
export type RegionWorld = {
  readonly database: FreshDatabase;
  /** Always the API itself, without the proxies between it and the agents. */
  readonly apiUrl: string;
  /** The running API, or the last one that ran. */
  readonly api: TestProcess;
  readonly worker: TestProcess;
  readonly organisation: ApiClient;
  readonly operator: ApiClient;
  readonly organisationToken: string;
  readonly operatorToken: string;
  readonly agentToken: string;
  /** The people who sign in at the panel. */
  readonly users: Readonly<Record<"operator" | "organisation", SeededAccount>>;
  readonly labDirectory: string;
  readonly labControlUrl: string;
  startAgent(env?: Readonly<Record<string, string>>, places?: AgentPlaces): TestProcess;
  /**
   * Starts the API again on its port, after the one before has ended (`api.end("SIGKILL")` ends it), and waits until it
   * is ready. `env` adds to the world's.
   */
  startApi(env?: Readonly<Record<string, string>>): Promise<TestProcess>;
  /** Another process of the API on the same database, at a port of its own; `main` is of another build. */
  addApi(
    env?: Readonly<Record<string, string>>,
    main?: string,
  ): Promise<{ readonly origin: string; readonly process: TestProcess }>;
  /** The same for the worker, which is ready at once; or one more next to it. */
  startWorker(env?: Readonly<Record<string, string>>, beside?: boolean, main?: string): TestProcess;
  /** The panel, before this world's API; its pages open consoles there. */
  startPanel(
    environment?: Readonly<Record<string, string>>,
  ): Promise<{ readonly url: string; readonly process: TestProcess }>;
  /** The real effects on the region. */
  effects(): Effects;
  /** The VMs there are, by id, with the server each is marked for. */
  vms(): Promise<readonly LabVm[]>;
  /** Creates a server through the public API and answers it with its job; in the seeded organisation by default. */
  createServer(
    name: string,
    client?: ApiClient,
    more?: Partial<Schemas["ServerCreate"]>,
  ): Promise<Schemas["ServerCreated"]>;
  /** An organisation of its own, and the operator acting in it. */
  newOrganisation(slug: string): Promise<ApiClient>;
  /** Waits until a job is done. Fails the test after 40 seconds. */
  untilDone(jobId: string, client?: ApiClient): Promise<Schemas["Job"]>;
  /** The last lines of every process, for a failure's message. */
  outputs(): string;
  end(): Promise<void>;
};

export type LabVm = { readonly vmid: number; readonly running: boolean; readonly description: string };

/** In a world with wires: the public network's next hop, and a host beyond it that answers, also by HTTP. */
export const outside = { nextHop: "203.0.113.1", prefixLength: 24, beyond: "198.51.100.250" } as const;

const internet = {
  networks: [{ bridge: "vmbr0", vlan: 10, addresses: [`${outside.nextHop}/${outside.prefixLength}`] }],
  beyond: [outside.beyond],
  hasWeb: true,
};

/** Why a world on this machine cannot have wires; undefined when it can. */
export const probeWorldWires = (): Promise<string | undefined> => probeWires();

/** Starts a world; `end` it in any case. The bundles that ship are what runs. */
export async function startRegionWorld(options: WorldOptions = {}): Promise<RegionWorld> {
  const [ownApi = "", ownAgent = "", labMain = ""] = (
    await bundleApps(["apps/api", "apps/agent", "packages/lab"])
  ).map(inRoot);
  const { api: apiMain = ownApi, agent: agentMain = ownAgent } = options.builds ?? {};
  const directory = mkdtempSync(path.join(tmpdir(), "kule-world-"));
  const database = options.database ?? (await freshDatabase());
  const processes: TestProcess[] = [];
  const run = (name: string, args: readonly string[], env: Readonly<Record<string, string>>) => {
    const started = startProcess(name, args, env);
    processes.push(started);
    return started;
  };
  const outputs = () =>
    processes.map(({ name, pid, output }) => `── ${name} ${pid}\n${output().slice(-2000)}`).join("\n");
  const end = async () => {
    await Promise.all(processes.map((each) => each.end("SIGKILL")));
    if (options.database === undefined) await database.drop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const { links = {} } = options;
    const apiPort = await findFreePort();
    const apiOrigin = `http://127.0.0.1:${apiPort}`;
    const apiUrl = `${apiOrigin}/api/v1`;
    const panelUrl = `http://127.0.0.1:${await findFreePort()}`;
    const workerEnv = {
      KULE_DATABASE_URL: database.apiUrl,
      KULE_WORKER_DATABASE_URL: database.workerUrl,
      KULE_API_PORT: String(apiPort),
      KULE_API_SECRET: "a-secret-of-the-tests-which-is-long-enough",
      KULE_CONSOLE_KEY: consoleKey,
      KULE_LEASE_SECONDS: String(options.leaseSeconds ?? 2),
      KULE_REMOVAL_BUFFER_SECONDS: String(options.removalBufferSeconds ?? 0),
      KULE_RATE_LIMIT_PER_HOUR: "100000000",
      KULE_RATE_LIMIT_BURST: "100000",
      KULE_LOG_LEVEL: "warn",
      // Passkeys need the name, which browsers treat like https.
      KULE_CONSOLE_ORIGINS: `${panelUrl} ${panelUrl.replace("127.0.0.1", "localhost")}`,
      ...options.apiEnv,
    };
    const labDirectory = path.join(directory, "lab");
    const lab = run("lab", [labMain], {
      KULE_LAB_DIR: labDirectory,
      KULE_LAB_PORT: "0",
      KULE_LAB_CONTROL_PORT: "0",
      KULE_LAB_TIME_SCALE: String(options.labTimeScale ?? 0),
      KULE_LAB_SIZE: String(options.labSize ?? 1),
      ...(options.hasWires ? { KULE_LAB_WIRES: "on", KULE_LAB_INTERNET: JSON.stringify(internet) } : {}),
      ...(options.realGuests ? { KULE_LAB_REAL_GUESTS: JSON.stringify(options.realGuests) } : {}),
    });
    const mode = options.mode ?? "agent";
    const seeded = await seed(apiMain, mode, { ...workerEnv, KULE_OWNER_DATABASE_URL: database.ownerUrl });
    const apiEnv =
      links.apiToPostgres === undefined
        ? workerEnv
        : { ...workerEnv, KULE_DATABASE_URL: await links.apiToPostgres(database.apiUrl) };
    const serve = (env: Readonly<Record<string, string>> = {}) =>
      run("api", [apiMain, "serve"], { ...apiEnv, ...env });
    const untilServing = (serving: TestProcess) =>
      untilReady(serving, async () => ((await fetch(`${apiUrl}/readyz`)).ok ? true : undefined));
    let directEnv: Readonly<Record<string, string>> = {};
    const work = (env: Readonly<Record<string, string>> = {}, main = apiMain) =>
      run("worker", [main, "worker"], { ...workerEnv, ...directEnv, ...env });
    let api = serve();
    const labFile = await untilReady(lab, async () => readLabFile(labDirectory));
    await untilServing(api);
    const places = {
      apiOrigin: (await links.agentToApi?.(apiOrigin)) ?? apiOrigin,
      lab: (await links.agentToLab?.(labFile)) ?? labFile,
    };
    let regionFiles = 0;
    const writeRegionFile = (own: AgentPlaces = {}) => {
      const { apiOrigin: origin, lab: place } = { ...places, ...own };
      const edge = own.edge ?? options.edge ?? labFile.edge;
      regionFiles += 1;
      const file = path.join(directory, `region-${regionFiles}.yaml`);
      writeFileSync(file, renderLabRegionFile(`${origin}/api/v1`, place, own.name, edge));
      return file;
    };
    const regionFile = writeRegionFile();
    const regionEnv = {
      KULE_PVE_TOKEN: labFile.token,
      KULE_AGENT_STATE: path.join(directory, "agent"),
      KULE_TEST_BUILD: "1",
    };
    if (mode === "direct") directEnv = { ...regionEnv, KULE_DIRECT_REGIONS: regionFile };
    let worker = work();

    const clientOf = (token: string, organisationId?: string) =>
      createApiClient({
        baseUrl: apiUrl,
        token,
        readRetries: 0,
        ...(organisationId === undefined ? {} : { organisationId }),
      });
    const organisation = clientOf(seeded.organisation_token);
    const operator = clientOf(seeded.operator_token);
    const untilDone = async (jobId: string, client = organisation): Promise<Schemas["Job"]> => {
      const deadline = performance.now() + 40_000;
      for (;;) {
        const { data, error } = await client.GET("/jobs/{job_id}", {
          params: { path: { job_id: jobId }, query: { wait: 5 } },
        });
        if (data?.done) return data;
        if (performance.now() > deadline)
          throw new Error(
            `job ${jobId} is not done: ${JSON.stringify(data ?? error, null, 2)}\n${outputs()}`,
          );
        if (data === undefined) await delay(1000);
      }
    };
    return {
      database,
      apiUrl,
      get api() {
        return api;
      },
      get worker() {
        return worker;
      },
      organisation,
      operator,
      organisationToken: seeded.organisation_token,
      operatorToken: seeded.operator_token,
      agentToken: seeded.agent_token,
      users: seeded.users,
      labDirectory,
      labControlUrl: labFile.controlUrl,
      startAgent: (env = {}, own) =>
        run("agent", [own?.main ?? agentMain, "run", own === undefined ? regionFile : writeRegionFile(own)], {
          KULE_AGENT_TOKEN: seeded.agent_token,
          ...regionEnv,
          ...env,
        }),
      async startApi(env) {
        if (api.running()) throw new Error("the API still runs; end it first");
        api = serve(env);
        await untilServing(api);
        return api;
      },
      async addApi(env = {}, main = apiMain) {
        const port = Number(env.KULE_API_PORT ?? (await findFreePort()));
        const origin = `http://127.0.0.1:${port}`;
        const process = run("api", [main, "serve"], { ...apiEnv, KULE_API_PORT: String(port), ...env });
        await untilReady(process, async () =>
          (await fetch(`${origin}/api/v1/readyz`)).ok ? true : undefined,
        );
        return { origin, process };
      },
      startWorker(env, beside = false, main) {
        if (!beside && worker.running()) throw new Error("the worker still runs; end it first");
        worker = work(env, main);
        return worker;
      },
      async startPanel(environment = {}) {
        const [main = ""] = (await bundleApps(["apps/console"])).map(inRoot);
        const url = panelUrl;
        const process = run("panel", [main], {
          KULE_API_URL: apiUrl,
          KULE_CONSOLE_PORT: new URL(url).port,
          KULE_CONSOLE_SECRET: "a-secret-of-the-tests-which-is-long-enough",
          KULE_CONSOLE_KEY: consoleKey,
          ...environment,
        });
        await untilReady(process, async () => ((await fetch(`${url}/healthz`)).ok ? true : undefined));
        return { url, process };
      },
      effects: () => effects(readJournal(labDirectory)),
      vms: () => listVms(labFile.controlUrl),
      async createServer(name, client = organisation, more = {}) {
        const { data, error } = await client.POST("/servers", {
          body: { name, region: "lab1", image: "ubuntu-24.04", package: "s", ...more },
        });
        if (data === undefined || !("job" in data)) throw new Error(JSON.stringify(error));
        return data;
      },
      async newOrganisation(slug) {
        const { data, error } = await operator.POST("/organisations", { body: { slug, name: slug } });
        if (data === undefined) throw new Error(JSON.stringify(error));
        return clientOf(seeded.operator_token, data.id);
      },
      untilDone,
      outputs,
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

const inRoot = (file: string) => path.join(root, file);

type Seeded = {
  operator_token: string;
  organisation_token: string;
  agent_token: string;
  users: Record<"operator" | "organisation", SeededAccount>;
};

async function seed(
  apiMain: string,
  mode: "agent" | "direct",
  env: Readonly<Record<string, string>>,
): Promise<Seeded> {
  const { stdout } = await promisify(execFile)(process.execPath, [apiMain, "seed", "--mode", mode], {
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Seeded;
}

type LabFile = { url: string; fingerprint256: string; controlUrl: string; token: string; edge?: LabEdge };

function readLabFile(labDirectory: string): LabFile {
  return JSON.parse(readFileSync(path.join(labDirectory, "lab.json"), "utf8")) as LabFile;
}

async function listVms(controlUrl: string): Promise<LabVm[]> {
  const answer = await fetch(`${controlUrl}/vms`);
  const all = (await answer.json()) as { vmid: number; running: boolean; config: Record<string, unknown> }[];
  return all
    .filter(({ config }) => Number(config.template ?? 0) !== 1)
    .map(({ vmid, running, config }) => ({ vmid, running, description: String(config.description ?? "") }));
}
