import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import type { WorldBuilds } from "@kule/testing/region-world";
import { type Skew, type SkewProxy, startSkewProxy } from "@kule/testing/rig/skew-proxy";
import { type Course, courseOfServer, describeJob, type Work } from "../job-kinds/course.ts";
import { ALWAYS_SAMPLED } from "../job-kinds/kinds-of.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { brokenInvariants } from "../job-kinds/scene.ts";
import { givenListener } from "../load-balancer-jobs/load-balancer-courses.ts";
import { EdgeTestbed } from "../network-jobs/edge-testbed.ts";
import { networkCourse } from "../network-jobs/network-courses.ts";
import { untilEdge } from "../network-jobs/region-networks.ts";
import { inParallel } from "../races/in-parallel.ts";

export type PairFindings = { readonly cases: number; readonly violations: readonly string[] };

/** Kinds that are worked through at the same time. */
const LANES = 4;

/**
 * Every kind of job of regions but a certificate's, which needs a CA; those of networks where this machine can have an edge. Or the one
 * with the most steps.
 */
export type Extent = "every kind" | "one kind";

/**
 * An agent of one version and an API of another: jobs are claimed, run, reported and right in the region, and no call of the agent
 * is refused.
 */
export async function agentPair(
  name: string,
  builds: WorldBuilds,
  skew: Skew,
  extent: Extent,
): Promise<PairFindings> {
  const tried = (courses: readonly Course[], testbed?: EdgeTestbed) =>
    withAgent(builds, skew, (scene, proxy) => worked(name, scene, proxy, skew, courses), testbed);
  if (extent === "one kind") return tried([courseOfServer(ALWAYS_SAMPLED)]);
  const courses = [...SERVER_JOB_KINDS.map(courseOfServer), givenListener];
  if ((await EdgeTestbed.missing()) !== undefined) return tried(courses);
  return EdgeTestbed.use((testbed) =>
    tried([...courses, networkCourse(testbed, "given a gateway")], testbed),
  );
}

async function worked(
  name: string,
  scene: RegionScene,
  proxy: SkewProxy,
  skew: Skew,
  courses: readonly Course[],
): Promise<PairFindings> {
  const violations: string[] = [];
  const work: Work = (subject, kind) => scene.work(subject, kind);
  let cases = 0;
  await inParallel(courses.length, LANES, async (index) => {
    const course = courses[index];
    if (course === undefined || violations.length > 0) return;
    try {
      const subject = await course.begin(scene, work);
      await course.cause(scene, subject);
      const job = await work(subject, course.kind);
      if (job.status !== "succeeded") violations.push(`${name}: ${course.kind} ${describeJob(job)}`);
      else violations.push(...(await course.violations(scene, subject)).map((text) => `${name}: ${text}`));
      cases += 1;
    } catch (error) {
      violations.push(`${name}: ${course.kind}: ${(error as Error).message.slice(0, 1_000)}`);
    }
  });
  violations.push(...refusals(name, proxy, skew));
  if (violations.length === 0)
    violations.push(...(await brokenInvariants(scene)).map((text) => `${name}: ${text}`));
  return { cases, violations };
}

/** A kind that an agent does not declare waits for one that does; its other jobs do not. */
export function undeclaredKind(): Promise<PairFindings> {
  return withAgent({}, { withoutKinds: ["ServerPower"] }, async (scene, proxy) => {
    const violations: string[] = [];
    const work: Work = (subject, kind) => scene.work(subject, kind);
    const course = courseOfServer("ServerPower");
    const subject = await course.begin(scene, work);
    await course.cause(scene, subject);
    // What is asked for after it is done before it.
    const other = courseOfServer("ServerCreate");
    const second = await other.begin(scene, work);
    await other.cause(scene, second);
    const created = await work(second, "ServerCreate");
    if (created.status !== "succeeded")
      violations.push(`beside a kind that no agent declares, a create ${describeJob(created)}`);
    const { rows } = await scene.owner.query<{ status: string; attempt: number }>(
      "select status, attempt from job where resource_id = $1 and kind = 'ServerPower'",
      [subject.server],
    );
    if (rows[0]?.status !== "queued" || rows[0].attempt !== 0)
      violations.push(`a kind that no agent declares was offered to one: ${JSON.stringify(rows)}`);
    proxy.set({});
    // The first one waits with the kinds that it has named.
    scene.world.startAgent();
    const job = await work(subject, "ServerPower");
    if (job.status !== "succeeded")
      violations.push(`for an agent that declares its kind, a job ${describeJob(job)}`);
    return { cases: 1, violations };
  });
}

async function withAgent<T>(
  builds: WorldBuilds,
  skew: Skew,
  work: (scene: RegionScene, proxy: SkewProxy) => Promise<T>,
  testbed?: EdgeTestbed,
): Promise<T> {
  const proxies: SkewProxy[] = [];
  const agentToApi = async (origin: string) => {
    const proxy = await startSkewProxy(origin, skew);
    proxies.push(proxy);
    return proxy.origin;
  };
  try {
    return await RegionScene.use(
      { builds, leaseSeconds: 10, links: { agentToApi } },
      async (scene) => {
        if (testbed !== undefined) await untilEdge(scene);
        scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "8", KULE_AGENT_HEALTH_SECONDS: "1" });
        const [proxy] = proxies;
        if (proxy === undefined) throw new Error("the agent does not go through a proxy");
        return work(scene, proxy);
      },
      testbed,
    );
  } finally {
    for (const proxy of proxies) await proxy.close();
  }
}

/** A report with an old epoch is a conflict of any version; everything else is to be taken. */
function refusals(name: string, proxy: SkewProxy, { missing = [] }: Skew): string[] {
  return [...proxy.statuses].flatMap(([path, counts]) =>
    [...counts]
      .filter(([status]) => status >= 400 && status !== 409 && !(status === 404 && missing.includes(path)))
      .map(([status, count]) => `${name}: ${count} calls of ${path} were answered ${status}`),
  );
}
