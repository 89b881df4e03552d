// The conformance suite: each call of the driver, with right and wrong values, against a real endpoint. It
// creates a pool and VMs with numbers that it was given and that are free, and removes them at the end.

import type { ProxmoxClient } from "../client.ts";
import { observeActiveTasks } from "../cluster.ts";
import { ProxmoxError, ProxmoxNotFound } from "../errors.ts";
import { findLeftoverVolumes } from "../leftover-volumes.ts";
import { readNumber } from "../lenient.ts";
import { isFreeVmid } from "../region-guests.ts";
import type { Runtime } from "../runtime.ts";
import { waitForTask } from "../task.ts";
import { parseUpid } from "../upid.ts";
import { type ProbeResult, ProbeRun } from "./probe-run.ts";
import { probeCluster } from "./probes-cluster.ts";
import { probeFirewall } from "./probes-firewall.ts";
import { probeGuest } from "./probes-guest.ts";
import { probeMachine } from "./probes-machine.ts";

export type ConformanceSettings = {
  /** Both ends belong to it; two numbers at least, twenty at most. */
  readonly vmids: readonly [first: number, last: number];
  readonly template: number;
  readonly storage: string;
  readonly bridge: string;
  /** How long the guest may take until its agent answers. */
  readonly agentSeconds: number;
};

/** The site that the probes work on. */
export type ProbeSite = ConformanceSettings & {
  /** Of the template, and so of what is cloned from it. */
  readonly node: string;
  /** Another node that answers; null where there is none. */
  readonly otherNode: string | null;
  readonly vmid: number;
  /** Of the range too; never created. */
  readonly absent: number;
  readonly pool: string;
  /** For a while. */
  readonly otherPool: string;
  /** Part of the descriptions of everything that this run creates. */
  readonly mark: string;
  /** The same endpoint with a secret that is wrong. */
  readonly stranger: ProxmoxClient;
};

/** The suite cannot begin as it was called; nothing was changed. */
export class ConformanceRefused extends Error {}

const POOLS = ["kule-conformance", "kule-conformance-2"] as const;
const MOST_NUMBERS = 20;
const CLEANUP_MILLISECONDS = 10 * 60_000;

/**
 * Runs all of it. Throws {@link ConformanceRefused}, or the reason of the signal; what it created is removed
 * all the same. What could not be removed is reported in the results.
 */
export async function runConformance(
  client: ProxmoxClient,
  stranger: ProxmoxClient,
  settings: ConformanceSettings,
  {
    runtime,
    signal,
    onResult,
  }: { runtime: Runtime; signal: AbortSignal; onResult: (result: ProbeResult) => void },
): Promise<readonly ProbeResult[]> {
  const site = await prepare(client, stranger, settings);
  const run = new ProbeRun(client, runtime, signal, onResult);
  try {
    await probeCluster(run, site);
    if (await probeMachine(run, site)) {
      await probeFirewall(run, site);
      await probeGuest(run, site);
    }
  } finally {
    await cleanUp(run, site);
  }
  return run.results;
}

async function prepare(
  client: ProxmoxClient,
  stranger: ProxmoxClient,
  settings: ConformanceSettings,
): Promise<ProbeSite> {
  const [first, last] = settings.vmids;
  if (last - first + 1 < 2 || last - first + 1 > MOST_NUMBERS)
    throw new ConformanceRefused(`the range ${first}-${last} must have 2 to ${MOST_NUMBERS} VM numbers`);
  if (settings.template >= first && settings.template <= last)
    throw new ConformanceRefused(
      `template ${settings.template} is in the range ${first}-${last}, which is destroyed`,
    );
  const taken: number[] = [];
  for (let vmid = first; vmid <= last; vmid++)
    if (!(await isFreeVmid(client, vmid, { deadlineMilliseconds: 30_000 }))) taken.push(vmid);
  if (taken.length > 0)
    throw new ConformanceRefused(
      `the range ${first}-${last} is not empty: ${taken.join(", ")}. Give numbers that nobody has, or remove what a broken run has left: qm unlock <vmid>; qm stop <vmid>; qm destroy <vmid>`,
    );
  const volumes = (
    await Promise.all([first, first + 1].map((vmid) => findLeftoverVolumes(client, vmid)))
  ).flat();
  if (volumes.length > 0)
    throw new ConformanceRefused(
      `there are volumes of VM numbers that are to be used: ${volumes.map(({ node, volume }) => `${volume} on ${node} (pvesm free ${volume})`).join(", ")}`,
    );
  const pools = await client.call("GET /pools", {});
  const [present] = POOLS.filter((pool) => pools.some(({ poolid }) => poolid === pool));
  if (present !== undefined)
    throw new ConformanceRefused(
      `the pool ${present} is there: another run is under way, or one was killed (pvesh delete /pools/${present})`,
    );
  const rows = await client.call("GET /cluster/resources", { type: "vm" });
  const node = rows.find((row) => readNumber(row.vmid) === settings.template)?.node;
  if (node === undefined)
    throw new ConformanceRefused(`template ${settings.template} is not there, or hidden from the token`);
  const nodes = await client.call("GET /nodes", {});
  const otherNode = nodes.find((each) => each.node !== node && each.status === "online")?.node ?? null;
  const mark = `kule conformance ${globalThis.crypto.randomUUID()}`;
  return {
    ...settings,
    node,
    otherNode,
    vmid: first,
    absent: first + 1,
    pool: POOLS[0],
    otherPool: POOLS[1],
    mark,
    stranger,
  };
}

/** Removes what the run has created; what cannot be removed is reported. Also runs after an abort. */
async function cleanUp(run: ProbeRun, site: ProbeSite): Promise<void> {
  const { client, runtime } = run;
  const { node, vmid } = site;
  const wait = (upid: string) =>
    waitForTask(client, upid, { runtime, deadlineMilliseconds: CLEANUP_MILLISECONDS });
  const attempt = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ProxmoxError)) throw error;
      run.leave("DELETE /nodes/{node}/qemu/{vmid}", what, `${error.message}. Remove it by hand.`);
    }
  };
  await attempt("waiting for tasks", async () => {
    // The answer that named a task may have been lost.
    const working = (await observeActiveTasks(client)).map(({ upid }) => upid);
    const ours = working.filter((upid) => [site.template, vmid].includes(Number(parseUpid(upid)?.id)));
    for (const upid of new Set([...run.openTasks, ...ours])) await wait(upid).catch(() => {});
  });
  await attempt(`cleaning up VM ${vmid}`, async () => {
    if (await isFreeVmid(client, vmid, { deadlineMilliseconds: 30_000 })) return;
    const path = { node, vmid };
    const config = await client.call("GET /nodes/{node}/qemu/{vmid}/config", path).catch((error: unknown) => {
      if (error instanceof ProxmoxNotFound) return null;
      throw error;
    });
    // The number may have been taken since it was checked.
    if (!config?.description?.includes(site.mark)) {
      run.leave(
        "DELETE /nodes/{node}/qemu/{vmid}",
        `cleaning up VM ${vmid}`,
        "it does not carry this run's mark",
      );
      return;
    }
    const { status } = await client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path);
    if (status === "running")
      await wait(
        await client.call("POST /nodes/{node}/qemu/{vmid}/status/stop", {
          ...path,
          "overrule-shutdown": true,
        }),
      );
    if (config.protection !== undefined)
      await wait(
        await client.call("POST /nodes/{node}/qemu/{vmid}/config", { ...path, delete: "protection" }),
      );
    await wait(await client.call("DELETE /nodes/{node}/qemu/{vmid}", { ...path, purge: true }));
  });
  for (const pool of POOLS)
    await attempt(`cleaning up pool ${pool}`, async () => {
      const pools = await client.call("GET /pools", {});
      if (pools.some(({ poolid }) => poolid === pool)) await client.call("DELETE /pools", { poolid: pool });
    });
}
