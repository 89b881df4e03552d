import type { Work } from "../job-kinds/course.ts";
import { runnerOfDoubledSteps } from "../job-kinds/doubled-steps.ts";
import { brokenInvariants } from "../job-kinds/scene.ts";
import { STEP_NAMES } from "../job-kinds/step-names.ts";
import { differences } from "../job-kinds/world-state.ts";
import type { RowResult, RowRun } from "../row.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { useLocalEdge } from "./local-edge.ts";
import { networkCourses } from "./network-courses.ts";
import { networkStateOf } from "./network-state.ts";

/** Goes every course of a network's job with each step applied once and with each applied twice. */
export function repeatAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return useLocalEdge(testbed, async (scene) => {
    const work: Work = (subject, kind) => scene.work(subject, kind);
    const violations: string[] = [];
    const applied = new Set<string>();
    let [cases, steps] = [0, 0];
    for (const course of networkCourses(testbed)) {
      const once = await course.begin(scene, work);
      await course.cause(scene, once);
      await scene.work(once, course.kind);
      const twice = await course.begin(scene, work);
      await course.cause(scene, twice);
      const doubled = runnerOfDoubledSteps(course.kind, (name) => {
        applied.add(name);
        steps += 1;
      });
      await scene.work(twice, course.kind, { run: doubled });
      cases += 1;
      violations.push(
        ...(await course.violations(scene, once)),
        ...(await course.violations(scene, twice)).map((text) => `${text}, with each step twice`),
        ...differences(
          await networkStateOf(scene, testbed, twice),
          await networkStateOf(scene, testbed, once),
        ).map((text) => `a network ${course.name} with each step twice leaves ${text}`),
        ...(await brokenInvariants(scene)),
      );
      run.progress(`a network ${course.name}: ${steps} steps applied twice, ${violations.length} violations`);
    }
    const missing = STEP_NAMES.NetworkApply.filter((name) => !applied.has(name));
    if (missing.length > 0) violations.push(`NetworkApply: nothing led to ${missing.join(", ")}`);
    return {
      cases,
      violations: [...new Set(violations)],
      figures: { "steps of networks applied twice": steps },
    };
  });
}
