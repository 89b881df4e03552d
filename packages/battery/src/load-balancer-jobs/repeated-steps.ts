import { runnerOfDoubledSteps } from "../job-kinds/doubled-steps.ts";
import { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, type Subject } from "../job-kinds/scene.ts";
import { STEP_NAMES } from "../job-kinds/step-names.ts";
import { alike, differences } from "../job-kinds/world-state.ts";
import type { RowResult, RowRun } from "../row.ts";
import {
  type LoadBalancerCourse,
  loadBalancerCourses,
  loadBalancerViolations,
  statesOf,
} from "./load-balancer-courses.ts";

const KIND = "LoadBalancerApply";
const TABLES = [
  "load_balancer",
  "load_balancer_machine",
  "listener",
  "load_balancer_target",
  "server",
  "job",
];
/** What always differs between two runs: the number of attempts and reports, and claims. */
const LEFT_OUT = new Set([
  ...["version", "epoch", "attempt", "last_seq", "step_count", "claim_id", "phase", "progress"],
]);

/** Goes every course of a load balancer's job with each step applied once and with each applied twice. */
export function repeatAtLoadBalancers(run: RowRun): Promise<RowResult> {
  return LocalScene.use(async (scene) => {
    const violations: string[] = [];
    const applied = new Set<string>();
    let [cases, steps] = [0, 0];
    for (const course of loadBalancerCourses) {
      const once = await begun(scene, course);
      await scene.work(once.subject, KIND, { onEvent: once.onEvent });
      const twice = await begun(scene, course);
      const doubled = runnerOfDoubledSteps(KIND, (name) => {
        applied.add(name);
        steps += 1;
      });
      await scene.work(twice.subject, KIND, { run: doubled, onEvent: twice.onEvent });
      cases += 1;
      violations.push(
        ...(await loadBalancerViolations(scene, once.subject)),
        ...(await loadBalancerViolations(scene, twice.subject)).map(
          (text) => `${text}, with each step twice`,
        ),
        ...differences(await stateOf(scene, twice.subject), await stateOf(scene, once.subject)).map(
          (text) => `a load balancer ${course.name} with each step twice leaves ${text}`,
        ),
        ...(await brokenInvariants(scene)),
      );
      run.progress(
        `a load balancer ${course.name}: ${steps} steps applied twice, ${violations.length} violations`,
      );
    }
    const missing = STEP_NAMES[KIND].filter((name) => !applied.has(name));
    if (missing.length > 0) violations.push(`${KIND}: nothing led to ${missing.join(", ")}`);
    return {
      cases,
      violations: [...new Set(violations)],
      figures: { "steps of load balancers applied twice": steps },
    };
  });
}

async function begun(scene: LocalScene, course: LoadBalancerCourse) {
  const subject = await course.begin(scene);
  const onEvent = (await course.onEvent?.(scene, subject)) ?? (() => {});
  return { subject, onEvent };
}

/** The rows and the guests' states of a subject, so that two subjects with the same course have the same text. */
async function stateOf(scene: LocalScene, subject: Subject): Promise<string> {
  const tables = [];
  for (const table of TABLES) {
    const { rows } = await scene.owner.query<{ row: object }>(
      `select to_jsonb(t) as row from ${table} t where organisation_id = $1
        order by to_jsonb(t) -> 'created_at', to_jsonb(t) ->> 'slot', to_jsonb(t) ->> 'kind', to_jsonb(t) ->> 'name'`,
      [subject.organisation],
    );
    tables.push([table, rows.map(({ row }) => row)]);
  }
  const text = JSON.stringify(
    { tables, guests: await statesOf(scene, subject) },
    (key, value) => (LEFT_OUT.has(key) ? undefined : value),
    1,
  );
  return alike(text, subject, -1, -1);
}
