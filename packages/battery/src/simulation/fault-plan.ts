// The faults of one seed. Not everything at once: each seed has random kinds of faults and rates of them (a
// swarm), because some defects only show where most things work.

import type { Dice } from "./dice.ts";

/** What happens to a call, with its probability. */
export type LinkFaults = {
  /** The request never arrives, and the caller hears of it. */
  readonly lostBefore: number;
  /** The effect happens, its reply is lost, and the caller gets an error. */
  readonly lostAfter: number;
  /** As the two above, but the caller hears nothing at all. */
  readonly silentBefore: number;
  readonly silentAfter: number;
  /** Arrives a second time, up to half a minute later. */
  readonly twice: number;
  /** In transit for up to a minute. */
  readonly slow: number;
  /** An answer of trouble (503 of the API, 500 and 59x of the hypervisor), before or after the effect. */
  readonly trouble: number;
  /** Milliseconds one way; what is sent earlier may arrive later. */
  readonly latency: readonly [number, number];
};

export type FaultPlan = {
  readonly agents: number;
  readonly concurrency: number;
  readonly servers: number;
  /** Removals and second thoughts of people while there is trouble. */
  readonly wishes: number;
  /** Other requests for existing servers: power, size, name, password, addresses. */
  readonly acts: number;
  /** VMs that were created manually and that become servers. */
  readonly adoptions: number;
  readonly faultSeconds: number;
  readonly removalBufferSeconds: number;
  /** Simulated seconds of the hypervisor's work for each lifelike one. */
  readonly hypervisorPace: number;
  readonly api: LinkFaults;
  readonly hypervisor: LinkFaults;
  /** Times from the beginning during which nothing reaches the API, in seconds. */
  readonly apiAway: readonly (readonly [number, number])[];
  readonly noQuorum: readonly (readonly [number, number])[];
  readonly crashAtPoint: number;
  readonly pauseAtPoint: number;
  /** Agents that stop gracefully, at these seconds. */
  readonly restarts: readonly number[];
  /** Agents that are killed or put to sleep anywhere, at these seconds. */
  readonly kills: readonly number[];
  readonly sleeps: readonly number[];
  /** Wall clocks are off by up to this. */
  readonly skewSeconds: number;
  /** Of a task that starts. */
  readonly taskFault: number;
  /** Among those, the ones that end a job: a full storage, a wrong answer. */
  readonly permanent: boolean;
  /** VM numbers of ours are used by others, configs edited, VMs moved. */
  readonly strangers: number;
  readonly edits: number;
};

const CALM: LinkFaults = {
  lostBefore: 0,
  lostAfter: 0,
  silentBefore: 0,
  silentAfter: 0,
  twice: 0,
  slow: 0,
  trouble: 0,
  latency: [1, 8],
};

/** How many seeds have no faults at all: they show that the checks hold without faults. */
const CALM_SHARE = 0.05;

export function drawFaults(dice: Dice): FaultPlan {
  const calm = dice.chance(CALM_SHARE);
  const has = (share: number) => !calm && dice.chance(share);
  const level = (share: number) => (has(share) ? dice.pick([0.005, 0.02, 0.06]) : 0);
  const faultSeconds = dice.whole(60, 260);
  const moments = (share: number, most: number) =>
    has(share) ? Array.from({ length: dice.whole(1, most) }, () => dice.between(1, faultSeconds)) : [];
  const windows = (share: number, longest: number) =>
    moments(share, 2).map((from) => [from, from + dice.between(2, longest)] as const);
  const link = (): LinkFaults => ({
    lostBefore: level(0.4),
    lostAfter: level(0.5),
    silentBefore: level(0.2),
    silentAfter: level(0.25),
    twice: level(0.3),
    slow: level(0.25),
    trouble: level(0.35),
    latency: has(0.3) ? [1, dice.pick([50, 400, 2_000])] : [1, 8],
  });
  return {
    agents: dice.whole(2, 3),
    concurrency: dice.whole(1, 2),
    servers: dice.pick([1, 1, 1, 1, 1, 2]),
    wishes: dice.pick([0, 0, 1, 1, 2, 3]),
    acts: dice.whole(0, 4),
    adoptions: dice.chance(0.08) ? 1 : 0,
    faultSeconds,
    removalBufferSeconds: dice.whole(260, 320),
    hypervisorPace: dice.pick([0.3, 0.3, 1, 1, 1, 1, 1, 4, 4, 25]),
    api: calm ? CALM : link(),
    hypervisor: calm ? CALM : link(),
    apiAway: windows(0.3, 120),
    noQuorum: windows(0.1, 60),
    crashAtPoint: has(0.4) ? dice.pick([0.003, 0.01, 0.03]) : 0,
    pauseAtPoint: has(0.4) ? dice.pick([0.003, 0.01, 0.03]) : 0,
    restarts: moments(0.2, 2),
    kills: moments(0.25, 2),
    sleeps: moments(0.25, 2),
    skewSeconds: has(0.3) ? dice.pick([2, 60, 7_200]) : 0,
    taskFault: has(0.35) ? dice.pick([0.05, 0.2]) : 0,
    permanent: dice.chance(0.3),
    strangers: has(0.12) ? 0.5 : 0,
    edits: has(0.15) ? dice.whole(1, 4) : 0,
  };
}

export type CallOutcome = keyof Omit<LinkFaults, "latency"> | "through";

const CALL_FAULTS = [
  "lostBefore",
  "lostAfter",
  "silentBefore",
  "silentAfter",
  "twice",
  "slow",
  "trouble",
] as const;

export function drawCallOutcome(faults: LinkFaults, dice: Dice): CallOutcome {
  let left = dice.random();
  for (const fate of CALL_FAULTS) {
    left -= faults[fate];
    if (left < 0) return fate;
  }
  return "through";
}

/** The latency of a link once the trouble is over. */
export const QUIET: LinkFaults = CALM;
