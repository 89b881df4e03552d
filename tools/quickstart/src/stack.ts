import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { migrate } from "@kule/database/migrate";
import { probePebble } from "@kule/lab/certificate-authority/pebble-daemon";
import { findFreePort, isPortBusy } from "@kule/postgres/free-port";
import { type KeptDatabase, keepDatabase } from "./kept-database.ts";
import { keptPort } from "./kept-port.ts";
import {
  controlPlaneCaEnv,
  type LabCaAccess,
  type LabCaDescription,
  labCaEnv,
  writeAcmeFile,
} from "./lab-ca.ts";
import {
  controlPlaneDnsEnv,
  type LabDnsAccess,
  type LabDnsDescription,
  labDnsEnv,
  shownDns,
  writeDnsFile,
} from "./lab-dns.ts";
import { mailEnv } from "./mail-server.ts";
import { readJsonFile, writePrivateFile } from "./private-file.ts";
import { acceptsConnections, answersHttp, hasEdge, lacksNothing } from "./probes.ts";
import { labInternet } from "./public-addresses.ts";
import { realGuestSetting } from "./real-guests.ts";
import { type LabDescription, writeRegionFile } from "./region-file.ts";
import type { RunNotes } from "./run-record.ts";
import { loadSecrets } from "./secrets.ts";
import { runSeed, type Seeded } from "./seed.ts";
import { type Settings, SettingsError } from "./settings.ts";
import { type SignInProviders, signInProviders } from "./sign-in-providers.ts";
import { SupervisedProcess } from "./supervised-process.ts";

const root = resolve(import.meta.dirname, "../../..");

export interface Stack {
  seeded: Seeded;
  apiUrl: string;
  consoleUrl: string;
  labUrl: string;
  /** Why servers of the lab cannot reach each other; undefined when they can. */
  withoutWires: string | undefined;
  dns: LabDnsDescription;
  /** Why no certificates are issued; undefined when the lab's CA does. */
  withoutCa: string | undefined;
  /** The providers of sign-ins, in addition to passwords. */
  providers: SignInProviders["providers"];
}

/** Everything that `npm start` runs, and the way to end it. */
export class StackRun {
  readonly #settings: Settings;
  readonly #notes: RunNotes;
  readonly #log: (line: string) => void;
  readonly #processes = new Map<string, SupervisedProcess>();
  #database: Promise<KeptDatabase> | undefined;
  readonly #stopping = new AbortController();
  #stopped: Promise<void> | undefined;

  constructor(settings: Settings, notes: RunNotes, log: (line: string) => void) {
    this.#settings = settings;
    this.#notes = notes;
    this.#log = log;
  }

  /**
   * Starts the database, migrates it, and starts lab, its DNS, API, worker, console and agent, each a process of its own.
   *
   * @throws SettingsError for a busy port or a wrong file of providers or of the mail server, ProcessFailed, PostgresError, or what the migration or seed threw.
   */
  async start(): Promise<Stack> {
    const { home, apiPort, consolePort, labPort, labDnsPort } = this.#settings;
    const signIns = signInProviders(this.#settings.oidcFile, process.env);
    const mail = mailEnv(this.#settings.mailFile, process.env);
    await this.#refuseBusyPorts();
    mkdirSync(join(home, "logs"), { recursive: true, mode: 0o700 });
    const secrets = loadSecrets(home);
    const [database] = await Promise.all([this.#openDatabase(), this.#build()]);

    const realGuests = this.#settings.realGuests ? await realGuestSetting(this.#log) : {};
    const labDir = join(home, "lab");
    // The description of an earlier lab must not be taken for this one's.
    rmSync(join(labDir, "lab.json"), { force: true });
    const lab = this.#run("lab", ["packages/lab/dist/main.js"], {
      KULE_LAB_DIR: labDir,
      KULE_LAB_HOST: "127.0.0.1",
      KULE_LAB_PORT: String(labPort),
      KULE_LAB_TIME_SCALE: String(this.#settings.labTimeScale),
      // Where the machine allows it, servers have a network of real packets.
      KULE_LAB_WIRES: "auto",
      KULE_LAB_INTERNET: JSON.stringify(labInternet),
      // The region file names it: a lab that is started again must be found where it was.
      KULE_LAB_EDGE_PORT: String(await findFreePort()),
      KULE_LAB_NODE_RULES: "infra/proxmox/kule-node-filter.nft",
      ...realGuests,
    });
    const dnsDir = join(home, "dns");
    mkdirSync(dnsDir, { recursive: true, mode: 0o700 });
    // The DNS file and quickstart.json name these ports: what is started again must be found where it was.
    const dnsAccess: LabDnsAccess = {
      dnsPort: labDnsPort,
      apiPort: await findFreePort(),
      apiKey: secrets.dnsApiKey,
      registrarPort: await keptPort(join(dnsDir, "registrar-port.json"), "127.0.0.2"),
      registrarKey: secrets.registrarKey,
    };
    rmSync(join(dnsDir, "dns.json"), { force: true });
    const dns = this.#run("dns", ["packages/lab/dist/dns-process.js"], labDnsEnv(dnsDir, dnsAccess));
    const withoutCa = probePebble();
    const caDir = join(home, "ca");
    const ca = withoutCa === undefined ? await this.#runCa(caDir) : undefined;
    await migrate(database.ownerUrl, {
      apiPassword: secrets.apiDatabasePassword,
      workerPassword: secrets.workerDatabasePassword,
    });

    const apiUrl = `http://127.0.0.1:${apiPort}/api/v1`;
    const consoleUrl = `http://127.0.0.1:${consolePort}`;
    const dnsFile = join(home, "dns.yaml");
    const dnsEnv = controlPlaneDnsEnv(dnsFile, dnsAccess);
    const acmeFile = join(home, "acme.yaml");
    const caEnv = ca === undefined ? undefined : controlPlaneCaEnv(acmeFile, secrets.masterKey);
    const apiEnv = {
      ...signIns.env,
      ...mail.api,
      ...dnsEnv.api,
      ...caEnv?.api,
      KULE_DATABASE_URL: roleUrl(database.ownerUrl, "kule_api", secrets.apiDatabasePassword),
      KULE_API_HOST: "127.0.0.1",
      KULE_API_PORT: String(apiPort),
      KULE_API_SECRET: secrets.apiSecret,
      KULE_CONSOLE_KEY: secrets.consoleKey,
      KULE_PUBLIC_URL: `http://127.0.0.1:${apiPort}/api/v1`,
      // The panel's pages open consoles at the API, whose origin is another one.
      KULE_CONSOLE_ORIGINS: `http://127.0.0.1:${consolePort} http://localhost:${consolePort}`,
      // Shorter than in production: after a kill, a person who tries it should not have to wait for the lease
      // of 90 s to end.
      KULE_LEASE_SECONDS: "20",
      KULE_REMOVAL_BUFFER_SECONDS: String(this.#settings.removalBufferSeconds),
    };
    const quickstartFile = join(home, "quickstart.json");
    const seeded = await runSeed(
      "apps/api/dist/main.js",
      quickstartFile,
      this.#settings.mode,
      // Not for a process that keeps running: the owner of the tables can undo every rule that they enforce.
      this.#env({ KULE_OWNER_DATABASE_URL: database.ownerUrl }),
      this.#stopping.signal,
    );

    const labDescription = await this.#labDescription(lab, labDir);
    const dnsDescription = await this.#dnsDescription(dns, dnsDir);
    writeDnsFile(dnsFile, dnsDescription, dnsAccess);
    const caDescription = ca === undefined ? undefined : await this.#caDescription(ca, caDir);
    if (caDescription !== undefined) writeAcmeFile(acmeFile, caDescription);
    writeQuickstartFile(quickstartFile, seeded, {
      api_url: apiUrl,
      console_url: consoleUrl,
      lab_pve_url: labDescription.url,
      ...shownDns(dnsDescription, dnsAccess),
      ...(caDescription === undefined ? {} : { ca_root: caDescription.root_certificate }),
    });
    const api = this.#run("api", ["apps/api/dist/main.js", "serve"], apiEnv);
    const regionFile = join(home, "region.yaml");
    // The lab's firewall has its round every ten seconds of its own time.
    const firewallRoundSeconds = Math.ceil(12 * this.#settings.labTimeScale);
    writeRegionFile(regionFile, seeded.region, apiUrl, labDescription, firewallRoundSeconds);
    const regionEnv = { KULE_PVE_TOKEN: labDescription.token, KULE_AGENT_STATE: join(home, "agent") };
    const isDirect = this.#settings.mode === "direct";
    const worker = this.#run("worker", ["apps/api/dist/main.js", "worker"], {
      ...apiEnv,
      KULE_WORKER_DATABASE_URL: roleUrl(database.ownerUrl, "kule_worker", secrets.workerDatabasePassword),
      ...mail.worker,
      ...dnsEnv.worker,
      ...caEnv?.worker,
      KULE_AUDIT_KEYS: `k1:${secrets.auditKey}`,
      ...(isDirect ? { ...regionEnv, KULE_DIRECT_REGIONS: regionFile } : {}),
    });
    const console = this.#run("console", ["apps/console/dist/main.js"], {
      KULE_API_URL: apiUrl,
      KULE_CONSOLE_HOST: "127.0.0.1",
      KULE_CONSOLE_PORT: String(consolePort),
      KULE_CONSOLE_PUBLIC_URL: consoleUrl,
      KULE_CONSOLE_SECRET: secrets.consoleSecret,
      KULE_CONSOLE_KEY: secrets.consoleKey,
    });
    await api.untilReady(() => answersHttp(`${apiUrl}/readyz`));
    const driver = isDirect
      ? worker
      : this.#run("agent", ["apps/agent/dist/main.js", "run", regionFile], {
          ...regionEnv,
          KULE_AGENT_TOKEN: seeded.agent_token,
        });
    await console.untilReady(() => answersHttp(consoleUrl));
    await worker.untilReady(() => lacksNothing(`${apiUrl}/readyz`));
    // Until then a gateway is refused, and a network is there without a job that could be followed.
    if (labDescription.edge !== undefined)
      await driver.untilReady(() => hasEdge(`${apiUrl}/regions/${seeded.region}`, seeded.operator_token));
    const withoutWires = labDescription.without_wires;
    const { providers } = signIns;
    return {
      seeded,
      apiUrl,
      consoleUrl,
      labUrl: labDescription.url,
      withoutWires,
      dns: dnsDescription,
      withoutCa,
      providers,
    };
  }

  /** Ends everything in order: those who use something before it. Within ten seconds. */
  stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopped ??= this.#stopInOrder();
    return this.#stopped;
  }

  /** Ends everything at once; the data survives it, like any kill. */
  kill(): void {
    for (const one of this.#processes.values()) one.kill();
  }

  async #stopInOrder(): Promise<void> {
    await this.#stopProcesses(["agent", "console", "worker"], 4_000);
    await this.#stopProcesses(["api", "lab", "dns", "ca"], 3_000);
    // It may just be starting, and would be left behind; the start has reported why it failed.
    const database = await this.#database?.catch(() => undefined);
    await database?.stop();
  }

  async #stopProcesses(names: string[], timeoutMs: number): Promise<void> {
    await Promise.all(names.map((name) => this.#processes.get(name)?.stop(timeoutMs)));
  }

  async #refuseBusyPorts(): Promise<void> {
    const { apiPort, consolePort, labPort, labDnsPort } = this.#settings;
    const wanted = [
      { port: apiPort, use: "the API", variable: "KULE_API_PORT" },
      { port: consolePort, use: "the console", variable: "KULE_CONSOLE_PORT" },
      { port: labPort, use: "the lab region", variable: "KULE_LAB_PORT" },
      { port: labDnsPort, use: "the lab's DNS", variable: "KULE_LAB_DNS_PORT" },
    ];
    const busy = await Promise.all(
      wanted.map(async (one) => ((await isPortBusy(one.port)) ? one : undefined)),
    );
    const faults = busy
      .filter((one) => one !== undefined)
      .map(({ port, use, variable }) => `Port ${port} for ${use} is in use: set ${variable} to a free one.`);
    if (faults.length > 0) throw new SettingsError(faults.join("\n"));
  }

  async #openDatabase(): Promise<KeptDatabase> {
    const begin = performance.now();
    this.#refuseWhenStopped();
    this.#database = keepDatabase(this.#settings, this.#log);
    const database = await this.#database;
    this.#log(`database ready (${seconds(begin)})`);
    return database;
  }

  async #build(): Promise<void> {
    const begin = performance.now();
    await bundleApps();
    this.#log(`apps built (${seconds(begin)})`);
  }

  async #labDescription(lab: SupervisedProcess, labDir: string): Promise<LabDescription> {
    let description: LabDescription | undefined;
    await lab.untilReady(async () => {
      description = readJsonFile<LabDescription>(join(labDir, "lab.json"));
      return description !== undefined && (await acceptsConnections(this.#settings.labPort));
    });
    if (description === undefined) throw new Error("stopped while the lab started");
    return description;
  }

  async #dnsDescription(dns: SupervisedProcess, dnsDir: string): Promise<LabDnsDescription> {
    let description: LabDnsDescription | undefined;
    await dns.untilReady(async () => {
      description = readJsonFile<LabDnsDescription>(join(dnsDir, "dns.json"));
      return description !== undefined;
    });
    if (description === undefined) throw new Error("stopped while the lab's DNS started");
    return description;
  }

  /** What is started again must be found where it was: the ACME file and the account at the CA name its address. */
  async #runCa(dataDir: string): Promise<SupervisedProcess> {
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    rmSync(join(dataDir, "ca.json"), { force: true });
    const access: LabCaAccess = {
      port: await keptPort(join(dataDir, "port.json"), "127.0.0.1"),
      managementPort: await findFreePort(),
      dnsPort: this.#settings.labDnsPort,
    };
    return this.#run("ca", ["packages/lab/dist/ca-process.js"], labCaEnv(dataDir, access));
  }

  async #caDescription(ca: SupervisedProcess, dataDir: string): Promise<LabCaDescription> {
    let description: LabCaDescription | undefined;
    await ca.untilReady(async () => {
      description = readJsonFile<LabCaDescription>(join(dataDir, "ca.json"));
      return description !== undefined;
    });
    if (description === undefined) throw new Error("stopped while the lab's CA started");
    return description;
  }

  #run(name: string, args: string[], env: Record<string, string>): SupervisedProcess {
    this.#refuseWhenStopped();
    const started = new SupervisedProcess({
      name,
      args: [...(this.#settings.sourceMaps ? ["--enable-source-maps"] : []), ...args],
      env: this.#env(env),
      cwd: root,
      logFile: join(this.#settings.home, "logs", `${name}.log`),
      started: (pid) => this.#notes.noteChild(name, pid),
      log: this.#log,
    });
    this.#processes.set(name, started);
    return started;
  }

  #refuseWhenStopped(): void {
    if (this.#stopped !== undefined) throw new Error("stopped while starting");
  }

  /** Only what a process needs: no setting of the caller's shell leaks in. */
  #env(own: Record<string, string>): Record<string, string> {
    const { PATH = "", HOME = "/" } = process.env;
    const optional = ["TZ", "LANG", "NODE_COMPILE_CACHE"].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    return { PATH, HOME, ...Object.fromEntries(optional), ...own };
  }
}

function seconds(begin: number): string {
  return `${((performance.now() - begin) / 1000).toFixed(1)} s`;
}

function roleUrl(ownerUrl: string, role: "kule_api" | "kule_worker", password: string): string {
  const url = new URL(ownerUrl);
  url.username = role;
  url.password = password;
  return url.href;
}

/** @param addresses where everything is, and the keys to what is not Kule's own */
function writeQuickstartFile(
  path: string,
  seeded: Seeded,
  addresses: Readonly<Record<string, string>>,
): void {
  const { users, ...tokens } = seeded;
  writePrivateFile(path, `${JSON.stringify({ ...addresses, ...tokens, users }, null, 2)}\n`);
}
