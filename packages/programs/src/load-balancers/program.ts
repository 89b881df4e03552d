// LoadBalancerApply: every machine of a load balancer gets its whole state, one machine after the other, the one with the
// address last. What one machine refuses is not given to the other one, and a machine that does not answer keeps nobody from
// a change.

import type { PayloadOf } from "@kule/contract/schemas";
import type { EffectContext } from "@kule/proxmox/hypervisor";
import { decideRound, type RoundMachine } from "@kule/rules/load-balancers/round";
import { Bug, Failed, type ObservedLoadBalancer, RetryLater } from "../errors.ts";
import {
  applyGuestState,
  observeGuestState,
  planGuestState,
  sendGuestState,
} from "../guest-state/guest-state.ts";
import type { Program, World } from "../program.ts";
import { giveUp, type Slot } from "./given-up.ts";
import {
  awaitAnswer,
  type LoadBalancerJob,
  lookAtMachine,
  ownerOf,
  type PayloadMachine,
  type SeenMachine,
  superseded,
} from "./look-at-machine.ts";
import { machineBundle } from "./machine-bundle.ts";

type LoadBalancerStep =
  | { readonly do: "put-state"; readonly slot: Slot; readonly seen: readonly SeenMachine[] }
  | { readonly do: "await-guest"; readonly slot: Slot };

/** The first boot of a guest, on a busy node. */
const FIRST_ANSWER_MILLISECONDS = 180_000;

export const applyLoadBalancer: Program<"LoadBalancerApply", readonly SeenMachine[], LoadBalancerStep> = {
  kind: "LoadBalancerApply",
  idle: new Set(["await-guest"]),

  async observe(job, world, effect) {
    const seen: SeenMachine[] = [];
    // One after the other: each may wait, and renews the lease meanwhile.
    for (const machine of job.payload.machines) {
      const wanted = machineBundle(job.payload, machine, world);
      seen.push(await lookAtMachine(job, machine, wanted, world, effect));
    }
    return seen;
  },

  plan(_, seen) {
    const starting = seen.filter(({ outcome }) => outcome === "starting");
    const slots = changedInTurn(seen);
    if (slots.length === 0 && starting.length === 0 && seen.every(({ outcome }) => outcome === "silent"))
      throw nobodyAnswers(seen);
    return [
      ...slots.map((slot) => ({ do: "put-state", slot, seen }) as const),
      ...starting.map(({ slot }) => ({ do: "await-guest", slot }) as const),
    ];
  },

  apply: {
    "put-state": async ({ slot, seen }, job, world, effect) => {
      try {
        await putState(job, machineAt(job, slot), world, effect);
      } catch (error) {
        if (error instanceof RetryLater && error.facts.code === "guest_state_unreachable") {
          giveUp(job, slot);
          effect.note(`machine ${slot} did not take the state: ${error.facts.internal}`);
          return;
        }
        throw endOf(error, slot, seen, job);
      }
    },
    "await-guest": async ({ slot }, job, world, effect) => {
      const answer = await awaitAnswer(machineAt(job, slot), FIRST_ANSWER_MILLISECONDS, world, effect);
      if ("why" in answer) giveUp(job, slot);
    },
  },

  observed: ({ payload }, seen) => ({
    power_state: "unknown",
    load_balancer: { generation: payload.generation, machines: seen.flatMap(reportedMachine) },
  }),
};

/** The machines that need the state, in the order in which they get it when each takes it. */
function changedInTurn(seen: readonly SeenMachine[]): Slot[] {
  const slots: Slot[] = [];
  let machines = seen.map(
    ({ slot, role, outcome }): RoundMachine => ({
      slot,
      role,
      outcome: outcome === "starting" ? "silent" : outcome,
    }),
  );
  for (;;) {
    const decision = decideRound(machines);
    if (decision.next !== "change") return slots;
    slots.push(decision.slot);
    machines = machines.map((each) => (each.slot === decision.slot ? { ...each, outcome: "applied" } : each));
  }
}

/** Repeated, it does only what is missing. */
async function putState(
  job: LoadBalancerJob,
  machine: PayloadMachine,
  world: World,
  effect: EffectContext,
): Promise<void> {
  const guest = { hypervisor: world.hypervisor, vmid: machine.vmid, owner: ownerOf(machine, world) };
  const bundle = machineBundle(job.payload, machine, world);
  for (const step of planGuestState(bundle, await observeGuestState(guest, effect)))
    if (step === "send-state") await sendGuestState(guest, bundle, effect);
    else await applyGuestState(guest, bundle, effect);
}

/** How the job ends after this; the error as it is when it is not about the state. */
function endOf(error: unknown, slot: Slot, seen: readonly SeenMachine[], job: LoadBalancerJob): unknown {
  if (!(error instanceof Failed)) return error;
  const { code, internal } = error.facts;
  const { generation } = job.payload;
  if (code === "guest_state_superseded") return superseded(`machine ${slot}: ${internal}`);
  if (code !== "guest_state_refused") return error;
  const refused = new Failed(
    {
      code: "configuration_refused",
      message:
        "A machine of the load balancer has refused the configuration. The one before it is in force. An operator has to look at it.",
      internal: `machine ${slot}: ${internal}`,
    },
    { cause: error },
  );
  const machines = seen.flatMap((machine) =>
    machine.slot === slot
      ? [{ slot, outcome: "refused" as const, generation: machine.generation, role: machine.role }]
      : reportedMachine(machine),
  );
  refused.seen = { load_balancer: { generation, machines } };
  return refused;
}

/** Nothing of one that still waits for the state. */
function reportedMachine({ slot, outcome, generation, role }: SeenMachine): ObservedLoadBalancer["machines"] {
  return outcome === "applied" || outcome === "silent" ? [{ slot, outcome, generation, role }] : [];
}

function machineAt(
  { payload }: { readonly payload: PayloadOf<"LoadBalancerApply"> },
  slot: Slot,
): PayloadMachine {
  const machine = payload.machines.find((each) => each.slot === slot);
  if (machine === undefined) throw new Bug(`the payload has no machine ${slot}`);
  return machine;
}

function nobodyAnswers(seen: readonly SeenMachine[]): RetryLater {
  return new RetryLater({
    code: "guest_silent",
    message: "No machine of the load balancer answers; this is tried again.",
    internal: seen.map(({ slot, why }) => `machine ${slot}: ${why}`).join("\n"),
  });
}
