/** A call whose time an attacker could measure. */
export type TimedCall = () => Promise<unknown>;

/**
 * Calls that are made in turn: a pair that must not be distinguishable, and two of a kind to measure the
 * machine's noise.
 */
export type TimedCalls = {
  readonly foreign: TimedCall;
  readonly absent: TimedCall;
  readonly control: TimedCall;
};

/**
 * The probability that one call takes longer than another (Mann-Whitney): 0.5 when they are
 * indistinguishable.
 */
export type Separation = {
  /** Others' objects against absent ones. */
  readonly seen: number;
  /** Absent objects against absent objects. */
  readonly control: number;
};

/** The standard error of such a probability between `pairs` and `pairs` calls that are alike. */
export function standardError(pairs: number): number {
  return Math.sqrt((2 * pairs + 1) / (12 * pairs * pairs));
}

/**
 * The order within each round changes, so that a drift of the machine hits all alike.
 *
 * @param warmRounds go before those that count; calls that are slow by what they work out need few
 */
export async function separation(calls: TimedCalls, rounds: number, warmRounds = 50): Promise<Separation> {
  const kinds = ["foreign", "absent", "control"] as const;
  for (let warm = 0; warm < warmRounds; warm += 1) for (const kind of kinds) await calls[kind]();
  const times: { readonly [kind in (typeof kinds)[number]]: number[] } = {
    foreign: [],
    absent: [],
    control: [],
  };
  for (let round = 0; round < rounds; round += 1)
    for (let place = 0; place < kinds.length; place += 1) {
      const kind = kinds[(round + place * (round % 2 === 0 ? 1 : 2)) % kinds.length] ?? "absent";
      const startedAt = performance.now();
      await calls[kind]();
      times[kind].push(performance.now() - startedAt);
    }
  return {
    seen: areaUnderCurve(times.foreign, times.absent),
    control: areaUnderCurve(times.control, times.absent),
  };
}

function areaUnderCurve(one: readonly number[], other: readonly number[]): number {
  const ranked = [
    ...one.map((value) => ({ value, isOne: true })),
    ...other.map((value) => ({ value, isOne: false })),
  ].sort((left, right) => left.value - right.value);
  const rankSum = ranked.reduce((sum, { isOne }, index) => sum + (isOne ? index + 1 : 0), 0);
  return (rankSum - (one.length * (one.length + 1)) / 2) / (one.length * other.length);
}
