import { setTimeout as delay } from "node:timers/promises";
import type { Work } from "../job-kinds/course.ts";
import type { RegionScene } from "../job-kinds/region-scene.ts";
import type { Subject } from "../job-kinds/scene.ts";
import type { NetworkCourse } from "./network-courses.ts";

const EDGE_MILLISECONDS = 20_000;
/** A network is created by up to three jobs, some of them concurrent. */
const MADE_MILLISECONDS = 120_000;

/** Networks in the state from which the course begins, created with a healthy agent. */
export async function begunNetworks(
  scene: RegionScene,
  course: NetworkCourse,
  count: number,
): Promise<readonly Subject[]> {
  const work: Work = (subject, kind) => scene.work(subject, kind, MADE_MILLISECONDS);
  const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
  try {
    return await Promise.all(Array.from({ length: count }, () => course.begin(scene, work)));
  } finally {
    await agent.end();
  }
}

/** Jobs of networks are queued once an agent has reported that its region has an edge. */
export async function untilEdge(scene: RegionScene): Promise<void> {
  const agent = scene.world.startAgent();
  const deadline = performance.now() + EDGE_MILLISECONDS;
  for (;;) {
    const { rows } = await scene.owner.query("select 1 from region where has_edge");
    if (rows.length > 0) return agent.end();
    if (performance.now() > deadline)
      throw new Error(`no agent says that there is an edge\n${agent.output()}`);
    await delay(50);
  }
}
