import { RegionScene } from "../job-kinds/region-scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { FalseClock } from "./false-clock.ts";
import { openQuietRegion, probeTimes } from "./skew-probes.ts";
import { runSkewedJobs } from "./skewed-jobs.ts";
import { sampledSkews, skews } from "./skews.ts";

/** Renewed at a third of it, also by a machine that is busy otherwise. */
const LEASE_SECONDS = 5;
/** About lifelike: a guest takes seven seconds to shut down, which is well more than a lease. */
const LAB_TIME_SCALE = 1.2;

/** Jobs, tokens, keys, buffers and leases under one wrong clock after the other. */
export async function runSkews(run: RowRun): Promise<RowResult> {
  const clocks = { agents: new FalseClock(), controlPlane: new FalseClock() };
  const options = {
    leaseSeconds: LEASE_SECONDS,
    labTimeScale: LAB_TIME_SCALE,
    apiEnv: clocks.controlPlane.environment,
  };
  try {
    return await RegionScene.use(options, async (scene) => {
      const quiet = await openQuietRegion(scene);
      const violations: string[] = [];
      const recoverySeconds: number[] = [];
      let [jobs, takenOver, probes] = [0, 0, 0];
      const chosen = run.scale === "full" ? skews : sampledSkews;
      for (const skew of chosen) {
        run.progress(skew.name);
        clocks.agents.set(skew.atFirst.agents);
        clocks.controlPlane.set(skew.atFirst.controlPlane);
        const [worked, probed] = await Promise.all([
          runSkewedJobs({ scene, clocks, skew, leaseSeconds: LEASE_SECONDS, random: run.random }),
          probeTimes(scene, quiet, LEASE_SECONDS),
        ]);
        violations.push(
          ...[...worked.violations, ...probed.violations].map((text) => `${skew.name}: ${text}`),
        );
        recoverySeconds.push(...worked.recoverySeconds);
        jobs += worked.jobs;
        takenOver += worked.takenOver;
        probes += probed.cases;
      }
      return {
        cases: jobs + probes,
        violations,
        recoverySeconds,
        figures: {
          skews: chosen.length,
          jobs,
          "jobs taken over": takenOver,
          "times that end": probes,
          "lease in seconds": LEASE_SECONDS,
        },
      };
    });
  } finally {
    clocks.agents.remove();
    clocks.controlPlane.remove();
  }
}
