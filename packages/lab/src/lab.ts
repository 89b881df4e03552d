import { mkdirSync } from "node:fs";
import type { Server } from "node:net";
import { serverIdentity } from "./certificate.ts";
import { controlServer } from "./control-server.ts";
import type { VmDocument } from "./documents.ts";
import { handlers } from "./handlers.ts";
import { type HttpFaults, makeHttpFaults } from "./http/http-faults.ts";
import { apiServer } from "./http/server.ts";
import { type JournalEntry, readJournal } from "./journal.ts";
import { pveum } from "./node-commands/pveum.ts";
import { PortTaken } from "./port-taken.ts";
import { RealGuests } from "./real-guests/real-guests.ts";
import { RealImageFault, realImages } from "./real-guests/real-images.ts";
import { makeRegion, type Region } from "./region.ts";
import { type Runtime, systemRuntime } from "./runtime.ts";
import type { ProxmoxVersion } from "./schema/api-schema.ts";
import { AGENT_TOKEN, type AgentGrant, OPERATOR_TOKEN, refreshRoles, seedRegion } from "./seed.ts";
import { openStore } from "./store.ts";
import type { TaskFaults } from "./tasks/task-faults.ts";
import { type EdgeMachine, startEdgeMachine } from "./wires/edge-machine.ts";
import type { Internet } from "./wires/internet.ts";
import { Wires } from "./wires/wires.ts";
import { callWorld, makeWorld, type World } from "./world.ts";

export interface LabOptions {
  /** The directory of state, certificate and secrets; created when missing. */
  readonly dataDir: string;
  /** 0 (the default) takes any free port. */
  readonly port?: number;
  /** 127.0.0.1 when absent. */
  readonly host?: string;
  /** Port of the control server on 127.0.0.1; no control server when absent, any free port when 0. */
  readonly controlPort?: number;
  /** 0 (the default): tasks end at once, though asynchronously; 1: lifelike. */
  readonly timeScale?: number;
  /** 9.2 when absent. */
  readonly version?: ProxmoxVersion;
  /** Seeds MAC addresses, UUIDs, process numbers. Secrets never depend on it. */
  readonly seed?: number;
  /** How many times as big as usual nodes and storages are when the region is seeded; 1 when absent. */
  readonly size?: number;
  /** How far the region's clock is off; 0 when absent. */
  readonly clockSkewSeconds?: number;
  /**
   * Real packets: running machines become network namespaces, with this as their internet. Needs root; without it
   * machines have no network at all.
   */
  readonly wires?: Internet;
  /**
   * Folders of root file systems by the names of templates: servers cloned from these really boot. They need wires.
   */
  readonly realGuests?: Readonly<Record<string, string>>;
  /** Why there are no wires, for a person who tries the network at a machine's console. */
  readonly withoutWires?: string;
  /**
   * Rules of nft that the nodes have in addition to their firewall, where there are wires; none when absent.
   */
  readonly nodeRules?: string;
  /** Port of the edge's SSH on 127.0.0.1, where there are wires; any free one when absent. */
  readonly edgePort?: number;
  /** The rights of the agent's token when the region is seeded; `guests` when absent. */
  readonly agentGrant?: AgentGrant;
  /** Replaces clock and random numbers altogether. */
  readonly runtime?: Runtime;
}

/** A running lab region. */
export interface Lab {
  /** https://127.0.0.1:PORT */
  readonly url: string;
  /** SHA-256 of the certificate, "AB:CD:...", as Node's getPeerCertificate() prints it. */
  readonly fingerprint256: string;
  /** The agent's token, with the roles it needs. Its secret is empty in a region that was seeded without one. */
  readonly tokenId: string;
  readonly tokenSecret: string;
  /** root@pam's token without privilege separation: may do everything a token may. */
  readonly operatorTokenId: string;
  readonly operatorTokenSecret: string;
  /** http://127.0.0.1:PORT of the control server, when there is one. */
  readonly controlUrl: string | undefined;
  /** Changes without an API request: drift, broken nodes, lost quorum. */
  readonly control: World & {
    /** Runs `pveum` as root on a node; returns its output. Throws CommandFailed. */
    pveum(...args: readonly string[]): string;
    /** Every VM as it is. */
    vms(): VmDocument[];
    vm(vmid: number): VmDocument | undefined;
    /** Ids of the volumes that carry this VM id. */
    volumes(vmid: number): string[];
    /** The pool that the VM is in; null when it is in none. */
    poolOf(vmid: number): string | null;
    /** How many of a node's three root daemon workers are busy. */
    busyWorkers(node: string): number;
    /** Resolves when no task is running. */
    settled(): Promise<void>;
  };
  /** Faults between client and API, and of future tasks. */
  readonly faults: HttpFaults & { readonly tasks: TaskFaults };
  /** The network that the machines are plugged into, when there is one. */
  readonly wires: Wires | undefined;
  /** The machine that may route between its VLANs; there where there are wires. */
  readonly edge: EdgeMachine | undefined;
  /** Every effect since the data directory was created, oldest first. */
  journal(): JournalEntry[];
  /** Stops serving. Running tasks are interrupted, as by a power failure; guests continue. */
  stop(): Promise<void>;
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      reject(error.code === "EADDRINUSE" ? new PortTaken(port) : error);
    });
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function countBoot(region: Region): void {
  const boots = (region.store.get("meta", "meta")?.boots ?? 0) + 1;
  region.store.commit({ op: "lab-started", detail: { boots, version: region.version } }, [
    ["meta", "meta", { boots }],
  ]);
}

function tokenSecret(region: Region, tokenid: string): string {
  const token = region.store.get("token", tokenid);
  return token?.secret ?? "";
}

/**
 * Starts a region on the state in `dataDir`, seeding it when it is empty.
 *
 * Throws {@link PortTaken} when a port is not free, WiresFailed when wires are requested where there can be
 * none.
 */
export async function startLab(options: LabOptions): Promise<Lab> {
  const { dataDir, port = 0, host = "127.0.0.1", timeScale = 0, version = "9.2", seed = 1 } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const skewMs = (options.clockSkewSeconds ?? 0) * 1000;
  const clock = options.runtime ?? systemRuntime(timeScale, seed, skewMs);
  const store = openStore(dataDir, clock.nowMs);
  // The number of earlier starts is part of the seed: a restart must not assign the same MACs again.
  const boots = store.get("meta", "meta")?.boots ?? 0;
  const runtime = options.runtime ?? systemRuntime(timeScale, seed + boots * 7919, skewMs);
  const fresh = store.empty;
  const images = realImages(options.realGuests ?? {});
  const region = makeRegion(runtime, store, version, options.withoutWires, images);
  if (fresh) seedRegion(region, options.size, options.agentGrant);
  else refreshRoles(region);
  countBoot(region);

  const faults = makeHttpFaults();
  const world = makeWorld(region);
  const hosts = ["localhost", "127.0.0.1", "::1", "pve1", "pve2", ...(host === "127.0.0.1" ? [] : [host])];
  const identity = serverIdentity(dataDir, hosts, new Date(runtime.nowMs()));
  const api = apiServer(region, handlers, faults, (name, args) => callWorld(world, name, args), identity);
  const wires =
    options.wires === undefined ? undefined : await Wires.lay(region, options.wires, options.nodeRules);
  region.wires = wires ?? null;
  if (images.length > 0) {
    if (wires === undefined) throw new RealImageFault("real guests need wires");
    region.realGuests = await RealGuests.start(region, wires, dataDir, images);
  }
  const control =
    options.controlPort === undefined ? undefined : controlServer(region, world, faults, dataDir);
  const closeAll = async (): Promise<void> => {
    region.rrd.stop();
    await edge?.stop();
    await region.realGuests?.end();
    await wires?.end();
    for (const task of region.live.values()) task.kill();
    store.close();
    for (const server of [api, control]) {
      if (server === undefined) continue;
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    }
  };
  let edge: EdgeMachine | undefined;
  let apiPort: number;
  let controlPort: number | undefined;
  try {
    apiPort = await listen(api, port, host);
    if (control !== undefined) controlPort = await listen(control, options.controlPort ?? 0, "127.0.0.1");
    if (wires !== undefined) edge = await startEdgeMachine(wires, dataDir, options.edgePort);
  } catch (error) {
    await closeAll();
    throw error;
  }
  const settled = async (): Promise<void> => {
    while (region.live.size > 0) await Promise.all([...region.live.values()].map(({ ended }) => ended));
  };
  return {
    url: `https://${host.includes(":") ? `[${host}]` : host}:${apiPort}`,
    fingerprint256: identity.fingerprint256,
    tokenId: AGENT_TOKEN,
    tokenSecret: tokenSecret(region, AGENT_TOKEN),
    operatorTokenId: OPERATOR_TOKEN,
    operatorTokenSecret: tokenSecret(region, OPERATOR_TOKEN),
    controlUrl: controlPort === undefined ? undefined : `http://127.0.0.1:${controlPort}`,
    control: {
      ...world,
      pveum: (...args) => pveum(region, args),
      vms: () => store.all("vm"),
      vm: (vmid) => store.get("vm", String(vmid)),
      volumes: (vmid) =>
        store
          .all("volume")
          .filter((volume) => volume.vmid === vmid)
          .map(({ volid }) => volid),
      poolOf: (vmid) => store.all("pool").find(({ vms }) => vms.includes(vmid))?.poolid ?? null,
      busyWorkers: (node) => region.daemons.get(node)?.busy ?? 0,
      settled,
    },
    wires,
    edge,
    faults: { ...faults, tasks: region.taskFaults },
    journal: () => readJournal(dataDir),
    stop: closeAll,
  };
}
