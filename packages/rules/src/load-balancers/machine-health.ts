/** What is known of a machine. */
export type MachineSight = {
  readonly slot: 1 | 2;
  /** Null while its server is being made, for the first time or as a replacement. */
  readonly serverId: string | null;
  /** When it answered last, in ms since 1970; null: never since its server was made. */
  readonly answeredAtMs: number | null;
  /** When it was asked last, whether it answered or not; null: never since its server was made. */
  readonly askedAtMs: number | null;
  /** How often in a row it was asked and did not answer. */
  readonly unansweredAsks: number;
  /** When its server was made. */
  readonly createdAtMs: number;
  /** The region has seen that its VM is not there any more. */
  readonly isGone: boolean;
  /** The last state that it has; 0 before the first. */
  readonly observedGeneration: number;
};

/** The region asks all machines every 30 s. */
export type Rounds = {
  /** When the region's last round ended; null: there was none. */
  readonly lastRoundAtMs: number | null;
  readonly nowMs: number;
};

export type MachineState = "creating" | "serving" | "behind" | "silent";

/** Three rounds. */
export const silentAfterMs = 90_000;
export const silentAfterAsks = 3;
/** A reboot of a node takes less. */
export const replacedAfterMs = 300_000;
/**
 * Time alone would say that a machine is lost that did not answer once, after hours in which the region's agent was away and asked
 * nobody.
 */
export const replacedAfterAsks = 10;

/** @param generation of what is wanted */
export function machineState(machine: MachineSight, generation: number): MachineState {
  if (machine.serverId === null) return "creating";
  if (isSilent(machine)) return "silent";
  if (machine.observedGeneration === 0) return "creating";
  return machine.observedGeneration < generation ? "behind" : "serving";
}

/** Whether less serves than is wanted: a machine is missing, gone or silent. */
export function isDegraded(machines: readonly MachineSight[], isHa: boolean): boolean {
  const serving = machines.filter((machine) => machine.serverId !== null && !isSilent(machine));
  return serving.length < (isHa ? 2 : 1);
}

/**
 * The slot whose machine is to be replaced now, or null.
 *
 * One at a time, and with two machines only while the other one serves: if both are silent it is rather the region that
 * cannot ask, and replacing would end what may serve. For the same reason a lone machine is replaced only when its VM
 * is gone, and nothing is decided by rounds that did not happen. One that has never answered is not replaced either: the
 * next would be made of the same image, and so on every five minutes.
 */
export function decideReplacement(
  machines: readonly MachineSight[],
  isHa: boolean,
  rounds: Rounds,
): 1 | 2 | null {
  if (machines.some(({ serverId }) => serverId === null) || isStale(rounds)) return null;
  const lost = machines.filter(isLost);
  const [first, ...more] = lost;
  if (first === undefined || more.length > 0) return null;
  if (!isHa) return first.isGone ? first.slot : null;
  const other = machines.find(({ slot }) => slot !== first.slot);
  if (other === undefined || isSilent(other) || other.observedGeneration === 0) return null;
  return first.slot;
}

function isSilent(machine: MachineSight): boolean {
  return machine.isGone || (machine.unansweredAsks >= silentAfterAsks && silenceMs(machine) >= silentAfterMs);
}

function isLost(machine: MachineSight): boolean {
  if (machine.isGone) return true;
  if (machine.answeredAtMs === null || machine.unansweredAsks < replacedAfterAsks) return false;
  return silenceMs(machine) >= replacedAfterMs;
}

/** Counted up to when it was asked last: while the region does not ask it, it is not silent. */
function silenceMs({ answeredAtMs, askedAtMs, createdAtMs }: MachineSight): number {
  return askedAtMs === null ? 0 : Math.max(0, askedAtMs - (answeredAtMs ?? createdAtMs));
}

const isStale = ({ lastRoundAtMs, nowMs }: Rounds): boolean =>
  lastRoundAtMs === null || nowMs - lastRoundAtMs >= silentAfterMs;
