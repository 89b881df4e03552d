import { rightTime } from "./false-clock.ts";

type Offsets = { readonly agents: string; readonly controlPlane: string };

/** Wall clocks of the processes: at first, and from the middle of the jobs on. Postgres and the region are right. */
export type Skew = { readonly name: string; readonly atFirst: Offsets; readonly midJob: Offsets | null };

const offsets = (more: Partial<Offsets>): Offsets => ({
  agents: rightTime,
  controlPlane: rightTime,
  ...more,
});
const skew = (name: string, atFirst: Partial<Offsets>, midJob: Partial<Offsets> | null = null): Skew => ({
  name,
  atFirst: offsets(atFirst),
  midJob: midJob === null ? null : offsets(midJob),
});

const RUNAWAY = "+0 x60";

export const skews: readonly Skew[] = [
  skew("agents 2 h ahead", { agents: "+2h" }),
  skew("agents 2 h behind", { agents: "-2h" }),
  skew("control plane 2 h ahead", { controlPlane: "+2h" }),
  skew("control plane 2 h behind", { controlPlane: "-2h" }),
  skew("agents' clocks 60 times as fast", { agents: RUNAWAY }),
  skew("control plane's clock 60 times as fast", { controlPlane: RUNAWAY }),
  skew("agents set back 1 h in the middle of jobs", {}, { agents: "-1h" }),
  skew("control plane set back 1 h in the middle of jobs", {}, { controlPlane: "-1h" }),
  skew("agents behind, control plane ahead, 2 h each", { agents: "-2h", controlPlane: "+2h" }),
];

/**
 * For a short check. Agents whose clocks run ahead renew all the time, which hides the effect of setting them
 * back.
 */
export const sampledSkews: readonly Skew[] = [
  skew(
    "control plane 2 h ahead, agents 2 h ahead and then set back 3 h",
    { agents: "+2h", controlPlane: "+2h" },
    { agents: "-1h", controlPlane: "+2h" },
  ),
];
