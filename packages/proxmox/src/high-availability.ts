// A VM under the cluster's resource manager is started and stopped in that manager's own time: the task ends
// when the request is recorded. So the VM itself is polled.

import type { ProxmoxClient } from "./client.ts";
import { ProxmoxNotFound, ProxmoxTaskLost } from "./errors.ts";
import type { EffectContext } from "./hypervisor.ts";
import { readBoolean, readNumber } from "./lenient.ts";
import type { Runtime } from "./runtime.ts";

const HA_TIMEOUT_SECONDS = 5 * 60;
const HA_POLL_MILLISECONDS = 2_000;

export async function isHighlyAvailable(
  client: ProxmoxClient,
  path: { node: string; vmid: number },
  signal?: AbortSignal,
): Promise<boolean> {
  const status = await client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal });
  return readBoolean((status.ha as { managed?: number | string } | undefined)?.managed);
}

/** Throws ProxmoxTaskLost (outcome unknown) when the VM is not there in time; it may have changed its node on the way. */
export async function waitForPower(
  { client, runtime }: { client: ProxmoxClient; runtime: Runtime },
  vmid: number,
  wanted: "running" | "stopped",
  effect: EffectContext,
): Promise<void> {
  const { signal } = effect;
  const startedAt = runtime.now();
  for (;;) {
    // Before the look: a process that was suspended meanwhile looks once more.
    const elapsed = runtime.now() - startedAt;
    const rows = await client.call("GET /cluster/resources", { type: "vm" }, { signal });
    const node = rows.find((row) => readNumber(row.vmid) === vmid)?.node;
    if (node && (await powerOn(client, { node, vmid }, signal)) === wanted) return;
    if (elapsed > HA_TIMEOUT_SECONDS * 1000)
      throw new ProxmoxTaskLost({
        call: `HA request for VM ${vmid}`,
        status: null,
        text: `the VM is not ${wanted} after ${HA_TIMEOUT_SECONDS} s`,
        outcome: "unknown",
        fix: "The cluster's HA manager decides when it acts: ha-manager status.",
      });
    await effect.stillRunning(elapsed);
    await runtime.pause(HA_POLL_MILLISECONDS, signal);
  }
}

/** "moving" when it has just left this node. */
async function powerOn(
  client: ProxmoxClient,
  path: { node: string; vmid: number },
  signal: AbortSignal | undefined,
): Promise<"running" | "stopped" | "moving"> {
  try {
    return (await client.call("GET /nodes/{node}/qemu/{vmid}/status/current", path, { signal })).status;
  } catch (error) {
    if (error instanceof ProxmoxNotFound) return "moving";
    throw error;
  }
}
