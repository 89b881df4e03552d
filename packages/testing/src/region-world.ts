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
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "./child-process.ts";
import { type FreshDatabase, freshDatabase } from "./database.ts";
import { renderLabRegionFile } from "./lab-region-file.ts";

const root = path.resolve(import.meta.dirname, "../../..");

export type WorldOptions = {
  /** Seconds a claim holds without a report. Default 2, so that a crash is recovered from quickly. */
  readonly leaseSeconds?: number;
  /** Seconds between deleting a server and destroying it. Default 0. */
  readonly removalBufferSeconds?: number;
  /** 0: the hypervisor's tasks take no time; 1: lifelike. Default 0. */
  readonly labTimeScale?: number;
  readonly apiEnv?: Readonly<Record<string, string>>;
};

/** Kule as it runs: API, worker, lab and agents as separate processes on a real Postgres. */
export type RegionWorld = {
  readonly database: FreshDatabase;
  readonly apiUrl: string;
  readonly api: TestProcess;
  readonly organisation: ApiClient;
  readonly operator: ApiClient;
  readonly organisationToken: string;
  readonly agentToken: string;
  readonly labDirectory: string;
  readonly labControlUrl: string;
  startAgent(env?: Readonly<Record<string, string>>): TestProcess;
  /** What was really done to the region. */
  effects(): Effects;
  /** The VMs there are, by id, with the server each is marked for. */
  vms(): Promise<readonly LabVm[]>;
  /** Creates a server through the public API and answers it with its job; in the seeded organisation by default. */
  createServer(name: string, client?: ApiClient): Promise<Schemas["ServerCreated"]>;
  /** An organisation of its own, and the operator acting in it. */
  newOrganisation(slug: string): Promise<ApiClient>;
  /** Waits until a job is done. Fails the test after 40 seconds. */
  untilDone(jobId: string, client?: ApiClient): Promise<Schemas["Job"]>;
  /** The last lines of every process, for a failure's message. */
  outputs(): string;
  end(): Promise<void>;
};

export type LabVm = { readonly vmid: number; readonly running: boolean; readonly description: string };

/** Starts a world; `end` it in any case. The bundles that ship are what runs. */
export async function startRegionWorld(options: WorldOptions = {}): Promise<RegionWorld> {
  const [apiMain = "", agentMain = "", labMain = ""] = (
    await bundleApps(["apps/api", "apps/agent", "packages/lab"])
  ).map(inRoot);
  const directory = mkdtempSync(path.join(tmpdir(), "kule-world-"));
  const database = await freshDatabase();
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
    await database.drop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const apiPort = await findFreePort();
    const apiUrl = `http://127.0.0.1:${apiPort}/api/v1`;
    const apiEnv = {
      KULE_DATABASE_URL: database.apiUrl,
      KULE_OWNER_DATABASE_URL: database.ownerUrl,
      KULE_API_PORT: String(apiPort),
      KULE_LEASE_SECONDS: String(options.leaseSeconds ?? 2),
      KULE_REMOVAL_BUFFER_SECONDS: String(options.removalBufferSeconds ?? 0),
      KULE_RATE_LIMIT_PER_HOUR: "100000000",
      KULE_RATE_LIMIT_BURST: "100000",
      KULE_LOG_LEVEL: "warn",
      ...options.apiEnv,
    };
    const labDirectory = path.join(directory, "lab");
    const lab = run("lab", [labMain], {
      KULE_LAB_DIR: labDirectory,
      KULE_LAB_PORT: "0",
      KULE_LAB_CONTROL_PORT: "0",
      KULE_LAB_TIME_SCALE: String(options.labTimeScale ?? 0),
    });
    const seeded = await seed(apiMain, apiEnv);
    const api = run("api", [apiMain, "serve"], apiEnv);
    run("worker", [apiMain, "worker"], apiEnv);
    const labFile = await untilReady(lab, async () => readLabFile(labDirectory));
    await untilReady(api, async () => ((await fetch(`${apiUrl}/readyz`)).ok ? true : undefined));
    const regionFile = path.join(directory, "region.yaml");
    writeFileSync(regionFile, renderLabRegionFile(apiUrl, labFile));

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
      api,
      organisation,
      operator,
      organisationToken: seeded.organisation_token,
      agentToken: seeded.agent_token,
      labDirectory,
      labControlUrl: labFile.controlUrl,
      startAgent: (env = {}) =>
        run("agent", [agentMain, "run", regionFile], {
          KULE_AGENT_TOKEN: seeded.agent_token,
          KULE_PVE_TOKEN: labFile.token,
          KULE_AGENT_STATE: path.join(directory, "agent"),
          KULE_TEST_BUILD: "1",
          ...env,
        }),
      effects: () => effects(readJournal(labDirectory)),
      vms: () => listVms(labFile.controlUrl),
      async createServer(name, client = organisation) {
        const { data, error } = await client.POST("/servers", {
          body: { name, region: "lab1", image: "ubuntu-24.04", package: "s" },
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

type Seeded = { operator_token: string; organisation_token: string; agent_token: string };

async function seed(apiMain: string, env: Readonly<Record<string, string>>): Promise<Seeded> {
  const { stdout } = await promisify(execFile)(process.execPath, [apiMain, "seed"], {
    env: { PATH: process.env.PATH ?? "", ...env },
  });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Seeded;
}

type LabFile = { url: string; fingerprint256: string; controlUrl: string; token: string };

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
