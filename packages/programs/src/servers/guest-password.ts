// A user of a running guest is given a password by the guest's agent, which is waited for.

import { ProxmoxAgentUnavailable } from "@kule/proxmox/errors";
import type { EffectContext, Owner } from "@kule/proxmox/hypervisor";
import type { World } from "../program.ts";
import { guestAgentUnavailable } from "./vm-problems.ts";

export type GuestUser = {
  readonly name: string;
  readonly password: string;
  /** A crypt hash, which Windows does not take. */
  readonly crypted: boolean;
};

/** How long to wait for the agent, and how often to query it. */
export type GuestAgentTimeout = { readonly limitMilliseconds: number; readonly pauseMilliseconds: number };

/**
 * Throws Failed when the guest's agent has not taken the password in that time: when a request failed that was sent after
 * it. A process that was suspended meanwhile asks once more, since the guest may have started long ago.
 */
export async function setGuestPassword(
  { vmid, owner, user }: { readonly vmid: number; readonly owner: Owner; readonly user: GuestUser },
  { limitMilliseconds, pauseMilliseconds }: GuestAgentTimeout,
  { hypervisor, runtime }: Pick<World, "hypervisor" | "runtime">,
  effect: EffectContext,
): Promise<void> {
  const startedAt = runtime.now();
  for (;;) {
    const waited = runtime.now() - startedAt;
    try {
      await hypervisor.setGuestPassword(vmid, owner, user, effect);
      return;
    } catch (error) {
      if (!(error instanceof ProxmoxAgentUnavailable)) throw error;
      if (waited >= limitMilliseconds) throw guestAgentUnavailable(error.message, limitMilliseconds);
      await effect.stillRunning(waited);
      await runtime.pause(pauseMilliseconds, effect.signal);
    }
  }
}
