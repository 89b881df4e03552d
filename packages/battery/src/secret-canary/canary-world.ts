import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sharedProviderFile } from "@kule/api/testing/soft-sign-ins";
import { bundleApps } from "@kule/build/bundle-apps";
import { activePatches } from "@kule/build/source-patch";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";
import { softClient } from "@kule/testing/oidc/soft-provider";
import { type RegionWorld, startRegionWorld } from "@kule/testing/region-world";
import { dumpDatabase } from "../secret-search/database-dump.ts";
import type { Sink } from "../secret-search/secret-search.ts";
import { CanaryCa } from "./canary-ca.ts";
import { KnownSecrets } from "./known-secrets.ts";
import { RecordedApi } from "./recorded-api.ts";

const root = resolve(import.meta.dirname, "../../../..");
/** In the environment of every process, so that the search there can be seen to work. */
export const control = "control-of-the-canary-search";

/** All of Kule as processes with the most verbose logs, and the secrets that exist from the start. */
export type CanaryWorld = {
  readonly region: RegionWorld;
  readonly api: RecordedApi;
  readonly secrets: KnownSecrets;
  readonly consoleUrl: string;
  readonly metricsUrl: string;
  /** By the names that sinks have: "api", "worker", "agent 1", "console". */
  readonly processes: ReadonlyMap<string, TestProcess>;
  /** The content of the tables at a moment in between. */
  readonly midway: Sink[];
  readonly certificateAuthority: CanaryCa;
  /** The private half of the agent's sealing key, which it makes at its first start. */
  agentKey(): string;
  startAgent(): TestProcess;
  end(): Promise<void>;
};

export async function startCanaryWorld(): Promise<CanaryWorld> {
  // Its build does not support patches, and no mutant of this row needs them there.
  if (activePatches().length === 0) await bundleApps(["apps/console"]);
  const [metricsPort, consolePort] = [await findFreePort(), await findFreePort()];
  const loud = { KULE_LOG_LEVEL: "trace", KULE_CANARY_CONTROL: control };
  const certificateAuthority = await CanaryCa.open();
  const region = await startRegionWorld({
    apiEnv: {
      ...loud,
      ...certificateAuthority.environment,
      ...(await sharedProviderFile()),
      KULE_API_METRICS_PORT: String(metricsPort),
    },
    leaseSeconds: 5,
  });
  const secrets = new KnownSecrets();
  const processes = new Map<string, TestProcess>([
    ["api", region.api],
    ["worker", region.worker],
  ]);
  const consoleSecret = randomBytes(32).toString("base64url");
  const consoleUrl = `http://127.0.0.1:${consolePort}`;
  const consoleProcess = startProcess("console", [join(root, "apps/console/dist/main.js")], {
    ...loud,
    KULE_API_URL: region.apiUrl,
    KULE_CONSOLE_PORT: String(consolePort),
    KULE_CONSOLE_SECRET: consoleSecret,
  });
  processes.set("console", consoleProcess);
  const startAgent = () => {
    const name = `agent ${[...processes.keys()].filter((each) => each.startsWith("agent")).length + 1}`;
    const agent = region.startAgent({ ...loud, KULE_AGENT_HEALTH_SECONDS: "1" });
    processes.set(name, agent);
    return agent;
  };
  try {
    await untilReady(consoleProcess, async () =>
      (await fetch(`${consoleUrl}/sign-in`)).ok ? true : undefined,
    );
    const environs = (...names: string[]) => names.map((name) => `environment of ${name}`);
    const { token: labToken } = JSON.parse(readFileSync(join(region.labDirectory, "lab.json"), "utf8")) as {
      token: string;
    };
    secrets.learnToken("the organisation's token", region.organisationToken);
    secrets.learnToken("the operator's token", region.operatorToken);
    secrets.learnToken("the agent's token", region.agentToken, environs("agent"));
    secrets.learn("the hypervisor's token", labToken.split("=").at(-1), [
      ...environs("agent"),
      "the lab's files",
    ]);
    secrets.learn("the client's secret at the provider", softClient.secret, environs("api", "worker"));
    secrets.learn("the console's key", consoleSecret, environs("console"));
    const { masterKey, hmacKey } = certificateAuthority;
    secrets.learn("the master key", masterKey, environs("api", "worker"));
    secrets.learn("the key of the account that the operators have", hmacKey, environs("api", "worker"));
    const databasePassword = new URL(region.database.apiUrl).password;
    secrets.learn("the database's password", databasePassword, environs("api", "worker"));
    const workerPassword = new URL(region.database.workerUrl).password;
    secrets.learn("the worker's password for the database", workerPassword, environs("api", "worker"));
  } catch (error) {
    await consoleProcess.end("SIGKILL");
    await region.end();
    await certificateAuthority.close();
    throw error;
  }
  return {
    region,
    api: new RecordedApi(region.apiUrl),
    secrets,
    consoleUrl,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    processes,
    midway: [],
    certificateAuthority,
    agentKey() {
      const text = readFileSync(join(dirname(region.labDirectory), "agent", "sealing-key"), "utf8").trim();
      return text.split(/\s+/).at(-1) ?? "";
    },
    startAgent,
    async end() {
      await consoleProcess.end("SIGKILL");
      await region.end();
      await certificateAuthority.close();
    },
  };
}

/** What is visible of the processes from outside, while they run. */
export function processSinks({ processes, secrets }: CanaryWorld): Sink[] {
  return [...processes]
    .filter(([, each]) => each.running())
    .flatMap(([name, { pid }]) => {
      const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8").replaceAll("\0", "\n");
      const kind = name.split(" ")[0] ?? "";
      return [
        { name: `arguments of ${name}`, text: read("cmdline"), control: "die-with-parent" },
        {
          name: `environment of ${name}`,
          text: read("environ"),
          control,
          mayHold: secrets.at(`environment of ${kind}`),
        },
      ];
    });
}

const firstWords: Readonly<Record<string, string>> = {
  api: "kule-api",
  worker: "kule-api",
  console: "listening",
  agent: '"level"',
};

export function logSinks({ processes }: CanaryWorld): Sink[] {
  return [...processes].map(([name, each]) => ({
    name: `log of ${name}`,
    text: each.output(),
    control: firstWords[name.split(" ")[0] ?? ""] ?? name,
  }));
}

/** What the region stores: of our secrets only those that a guest needs. */
export function labSink({ region, secrets }: CanaryWorld): Sink {
  const files = readdirSync(region.labDirectory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
  return {
    name: "the lab's files",
    text: files.join("\n"),
    control: "kule:v1 srv=",
    mayHold: secrets.at("the lab's files"),
  };
}

/** The present tables. While jobs are open, one of them contains the passwords that guests will need. */
export async function tableSinks(world: CanaryWorld, when: string): Promise<Sink[]> {
  const tables = await dumpDatabase(world.region.database.ownerUrl);
  return tables
    .filter(({ rows }) => rows > 0)
    .map(({ name, text }) => ({
      name: `table ${name}${when}`,
      text,
      control: text.slice(0, 100),
      ...(when !== "" && name === "public.server_secret"
        ? { mayHold: world.secrets.at("server_secret while jobs are open") }
        : {}),
    }));
}
