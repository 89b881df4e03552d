import type { World } from "@kule/programs/program";
import type { LabRegion } from "@kule/programs/testing/lab-region";
import { type CallName, type CallOptions, ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import type { Runtime } from "@kule/proxmox/runtime";

/** In place of the 35 s after which an agent's call times out: the same code, a shorter time. */
const CALL_DEADLINE_MILLISECONDS = 250;
/** A long pause is made this much longer, so that half an hour of polling a task is a few dozen polls. */
const LONG_PAUSE_FACTOR = 20;
const LONG_PAUSE_MILLISECONDS = 1_000;

class ShortDeadlineClient extends ProxmoxClient {
  override call<Call extends CallName>(
    call: Call,
    parameters: Parameters<ProxmoxClient["call"]>[1],
    options: CallOptions = {},
  ) {
    const deadlineMilliseconds = CALL_DEADLINE_MILLISECONDS;
    return super.call(call, parameters as never, { ...options, deadlineMilliseconds });
  }
}

/** Pauses take no time and move the clock, long ones further than requested. */
function fastRuntime(): Runtime {
  let now = Date.now();
  return {
    now: () => now,
    pause: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      now += milliseconds * (milliseconds >= LONG_PAUSE_MILLISECONDS ? LONG_PAUSE_FACTOR : 1);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** The lab's world with the real driver, whose deadlines are a test's. */
export function shortDeadlineWorld({ lab, world }: LabRegion): World {
  const client = new ShortDeadlineClient({
    endpoints: [lab.url],
    tokenId: lab.tokenId,
    tokenSecret: lab.tokenSecret,
    tls: { fingerprints: [lab.fingerprint256] },
  });
  const runtime = fastRuntime();
  return { ...world, runtime, hypervisor: new ProxmoxHypervisor(client, runtime) };
}
