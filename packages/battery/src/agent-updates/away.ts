// U8: the control plane is down, or its certificate has expired, for a week; and U11: two at once.

import { UpdateRig } from "@kule/agent/testing/update-rig";
import { takeLock } from "@kule/agent/update/lock";
import type { Part } from "./part.ts";

const DAY_MILLISECONDS = 86_400_000;
const DAYS = { sample: 7, full: 28 };

export const awayForAWeek: Part = async ({ scale }) => {
  const found: string[] = [];
  const rig = new UpdateRig();
  try {
    rig.isReachable = false;
    rig.ask("1.1.0");
    for (let day = 0; day < DAYS[scale] && found.length === 0; day += 1) {
      await rig.run();
      if (rig.current !== "1.1.0") found.push(`day ${day}: taken back for a control plane that was away`);
      if (rig.state.phase !== "watching")
        found.push(`day ${day}: ${rig.state.phase} although nothing is proven`);
      rig.pass(DAY_MILLISECONDS);
    }
    const restarts = rig.restarts;
    rig.isReachable = true;
    await rig.runToEnd();
    if (found.length === 0 && (rig.state.result?.state !== "done" || rig.restarts !== restarts))
      found.push(`after it: ${rig.state.result?.state}, ${rig.restarts - restarts} restarts`);
    found.push(...rig.flaws());
  } finally {
    rig.end();
  }
  return { what: "days without a control plane", cases: DAYS[scale], found };
};

/** By the lock that updaters and installations really take. */
export const twoAtOnce: Part = async () => {
  const found: string[] = [];
  const rig = new UpdateRig();
  try {
    const held = takeLock(rig.root);
    if (held === null) found.push("nobody has the lock, and it is not given");
    if (takeLock(rig.root) !== null) found.push("two updaters have the lock at once");
    held?.release();
    const again = takeLock(rig.root, 5);
    if (again === null) found.push("a lock that was given back is not given again");
    again?.release();
    // An operator stops the service while it is watched: no crash, and the next updater ends it.
    rig.ask("1.1.0");
    rig.onLook = (now) => {
      if (now - rig.startedMs > 30_000) rig.stopService();
    };
    await rig.run();
    if (rig.current !== "1.1.0" || rig.state.phase !== "watching")
      found.push(`a service that was stopped by hand counts as crashed: ${rig.current}, ${rig.state.phase}`);
    found.push(...rig.flaws());
  } finally {
    rig.end();
  }
  return { what: "two at once", cases: 3, found };
};
