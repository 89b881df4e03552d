// One look at a machine: is its VM there, does its guest agent answer, which state does it have, does it have the address.

import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import {
  ProxmoxError,
  ProxmoxForbidden,
  ProxmoxNotFound,
  ProxmoxNotOurs,
  ProxmoxUnauthorized,
} from "@kule/proxmox/errors";
import type { EffectContext, Owner } from "@kule/proxmox/hypervisor";
import type { RoundMachine } from "@kule/rules/load-balancers/round";
import { RetryLater } from "../errors.ts";
import type { Bundle } from "../guest-state/bundle.ts";
import {
  type GuestOf,
  observeGuestState,
  planGuestState,
  type SeenGuestState,
} from "../guest-state/guest-state.ts";
import type { Job, World } from "../program.ts";
import { isGivenUp, type Slot } from "./given-up.ts";
import { askMachine } from "./status/ask-machine.ts";

export type LoadBalancerJob = Job<PayloadOf<"LoadBalancerApply">>;
export type PayloadMachine = Schemas["PayloadMachine"];

export type SeenMachine = {
  readonly slot: Slot;
  readonly role: RoundMachine["role"];
  /** `starting`: it has never had a state and does not answer yet. */
  readonly outcome: "waiting" | "applied" | "silent" | "starting";
  /** Of the state in force; 0 before the first, null when it does not answer. */
  readonly generation: number | null;
  /** Why it is silent, for operators. */
  readonly why: string | null;
};

/** What a guest restarts in, or a short trouble of its node. */
const ANSWER_MILLISECONDS = 20_000;
const POLL_MILLISECONDS = 3_000;

type Answer =
  | { readonly state: SeenGuestState }
  /** `isGone`: there is nothing that could answer later. */
  | { readonly why: string; readonly isGone: boolean };

export function ownerOf(machine: PayloadMachine, { settings }: Pick<World, "settings">): Owner {
  return { serverId: machine.server_id, region: settings.region };
}

/** Waits for one that has answered before; of a new one see `starting`. */
export async function lookAtMachine(
  job: LoadBalancerJob,
  machine: PayloadMachine,
  wanted: Bundle,
  world: World,
  effect: EffectContext,
): Promise<SeenMachine> {
  const { slot } = machine;
  const givenUp = isGivenUp(job, slot);
  const isNew = !machine.has_state && !givenUp;
  const limit = givenUp || isNew ? 0 : ANSWER_MILLISECONDS;
  const answer = await awaitAnswer(machine, limit, world, effect);
  if ("why" in answer) {
    const outcome = isNew && !answer.isGone ? "starting" : "silent";
    return { slot, role: null, outcome, generation: null, why: answer.why };
  }
  const generation = generationOf(answer.state);
  if (generation > wanted.generation)
    throw superseded(`machine ${slot} has generation ${generation}, and the job is for ${wanted.generation}`);
  const isApplied = planGuestState(wanted, answer.state).length === 0;
  const role = job.payload.high_availability === null ? null : await roleOf(machine, world, effect);
  if (isApplied || !givenUp)
    return { slot, role, outcome: isApplied ? "applied" : "waiting", generation, why: null };
  return { slot, role, outcome: "silent", generation, why: "it answers and does not take the state" };
}

/** What it has, as soon as it answers; why it does not, after so long. */
export async function awaitAnswer(
  machine: PayloadMachine,
  limitMilliseconds: number,
  world: World,
  effect: EffectContext,
): Promise<Answer> {
  const startedAt = world.runtime.now();
  for (;;) {
    const answer = await answerOf(machine, world, effect);
    const waited = world.runtime.now() - startedAt;
    if ("state" in answer || answer.isGone || waited >= limitMilliseconds) return answer;
    await effect.stillRunning(waited);
    await world.runtime.pause(POLL_MILLISECONDS, effect.signal);
  }
}

/** A guest for looking only: a VM that a backup has locked is looked at too. */
function lookedAt(machine: PayloadMachine, world: World): GuestOf {
  const { hypervisor } = world;
  return {
    vmid: machine.vmid,
    owner: ownerOf(machine, world),
    hypervisor: {
      runInGuest: (vmid, owner, command, { signal }) => hypervisor.lookInGuest(vmid, owner, command, signal),
    },
  };
}

async function answerOf(machine: PayloadMachine, world: World, effect: EffectContext): Promise<Answer> {
  try {
    return { state: await observeGuestState(lookedAt(machine, world), effect) };
  } catch (error) {
    if (error instanceof RetryLater) return { why: error.facts.internal, isGone: false };
    // Of a node that is down: the machine is silent, and the other one's node may well answer.
    if (!isOfMachine(error) || effect.signal?.aborted) throw error;
    const isGone = error instanceof ProxmoxNotFound || error instanceof ProxmoxNotOurs;
    return { why: error.message, isGone };
  }
}

function isOfMachine(error: unknown): error is ProxmoxError {
  return (
    error instanceof ProxmoxError &&
    !(error instanceof ProxmoxForbidden) &&
    !(error instanceof ProxmoxUnauthorized)
  );
}

async function roleOf(
  machine: PayloadMachine,
  world: World,
  effect: EffectContext,
): Promise<RoundMachine["role"]> {
  const guest = { vmid: machine.vmid, owner: ownerOf(machine, world) };
  try {
    const status = await askMachine(world.hypervisor, guest, new Map(), effect.signal);
    if (status === null || status.role === null) return null;
    return status.role === "master" ? "active" : "standby";
  } catch (error) {
    if (!isOfMachine(error) || effect.signal?.aborted) throw error;
    return null;
  }
}

const generationOf = ({ current }: SeenGuestState): number => {
  const number = Number(current?.split("-")[0] ?? "0");
  return Number.isSafeInteger(number) ? number : 0;
};

/** The job for an older state is outdated, and gets the newest one with its next attempt. */
export function superseded(internal: string): RetryLater {
  return new RetryLater({
    code: "guest_state_superseded",
    message: "A newer state of the appliance is in force.",
    internal,
  });
}
