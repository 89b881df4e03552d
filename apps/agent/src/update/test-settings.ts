// What a test build is told by its environment: another root, and shorter times. A build that ships listens to nothing of it.

import type { UpdaterLimits } from "./apply-update.ts";
import { UPDATE_LIMITS } from "./updatable.ts";
import type { UpdateLoopLimits } from "./update-loop.ts";
import { WATCH_LIMITS } from "./watch.ts";

const given = process.env.KULE_TEST_BUILD === "1" ? process.env : {};
/** How many times shorter. */
const speed = Math.max(1, Number(given.KULE_TEST_UPDATE_SPEED ?? 1) || 1);

const UPDATER_LIMITS: UpdaterLimits = {
  ...WATCH_LIMITS,
  lookEveryMs: 1_000,
  askEveryMs: 10_000,
  watchMs: 30 * 60_000,
  formerMs: 30_000,
  tryMs: 20_000,
};

const shorter = <Limits extends Readonly<Record<string, number>>>(
  limits: Limits,
  kept: readonly string[],
): Limits =>
  Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [
      name,
      kept.includes(name) ? value : Math.ceil(value / speed),
    ]),
  ) as Limits;

export const testSettings: {
  readonly root: string | null;
  readonly updaterLimits: UpdaterLimits;
  readonly updateLimits: UpdateLoopLimits;
} = {
  root: given.KULE_TEST_ROOT ?? null,
  // Programs take their time, however short the watch is.
  updaterLimits: shorter(UPDATER_LIMITS, ["tryMs"]),
  updateLimits: shorter(UPDATE_LIMITS, ["tries", "bytesPerSecond"]),
};
