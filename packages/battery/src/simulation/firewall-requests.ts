// People change firewalls at any time: they are attached to servers in any transition, have their rules
// changed while those are written, and are detached again.

import { FIRST_PORT } from "./control-plane.ts";
import type { Dice } from "./dice.ts";
import { attachFirewall, changeFirewall, detachFirewall, type FirewallAnswer } from "./model-requests.ts";
import type { Simulation } from "./simulation.ts";

/** In the others the model is as without any firewall. */
const SHARE_OF_SEEDS = 0.35;
const MOST_REQUESTS = 8;

/**
 * Starts sending requests; `done` returns how many were sent so far.
 *
 * @param dice of its own, so that seeds without firewalls are what they were before there were any
 */
export function startFirewallRequests(simulation: Simulation, dice: Dice): { done(): number } {
  let done = 0;
  if (!dice.chance(SHARE_OF_SEEDS)) return { done: () => done };
  const { clock, model, plan } = simulation;
  const wish = (name: string, act: () => FirewallAnswer) => {
    done += 1;
    simulation.mark(name, String(act().status));
  };
  for (let count = dice.whole(1, MOST_REQUESTS); count > 0; count -= 1) {
    const firewall = dice.whole(1, model.state.firewalls.length);
    const kind = dice.pick<"filter" | "unfilter" | "change-rule">([
      "filter",
      "filter",
      "filter",
      "unfilter",
      "change-rule",
    ]);
    const port = dice.whole(FIRST_PORT, FIRST_PORT + 3);
    const chosen = dice.random();
    clock.after(dice.between(1, plan.faultSeconds) * 1000, () => {
      const { servers } = model.state;
      const server = servers[Math.floor(chosen * servers.length)];
      if (kind === "change-rule") wish(kind, () => changeFirewall(model, firewall, port));
      else if (kind === "filter") wish(kind, () => attachFirewall(model, firewall, server));
      else wish(kind, () => detachFirewall(model, firewall, server));
    });
  }
  return { done: () => done };
}
