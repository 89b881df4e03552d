import type { EffectContext } from "@kule/proxmox/hypervisor";
import type { World } from "../program.ts";

/** How often the job renews its lease while it waits for the firewall. */
const POLL_MILLISECONDS = 2_000;

/** Waits until the hypervisor's firewall has had a whole round since now; it has no call that reports it. */
export async function waitForFirewall({ runtime, settings }: World, effect: EffectContext): Promise<void> {
  const startedAt = runtime.now();
  for (;;) {
    const waited = runtime.now() - startedAt;
    if (waited >= settings.firewallRoundMs) return;
    await effect.stillRunning(waited);
    await runtime.pause(Math.min(POLL_MILLISECONDS, settings.firewallRoundMs - waited), effect.signal);
  }
}
