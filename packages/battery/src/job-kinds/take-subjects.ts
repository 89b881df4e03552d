import type { ServerJobKind } from "@kule/contract/schemas";
import type { Work } from "./course.ts";
import type { RegionScene } from "./region-scene.ts";
import type { Subject } from "./scene.ts";
import type { SubjectPool } from "./subject-pool.ts";

/** Servers from which jobs of the kind can be caused. Missing ones are created with a healthy agent. */
export async function takeSubjects(
  scene: RegionScene,
  pool: SubjectPool,
  kind: ServerJobKind,
  count: number,
): Promise<Subject[]> {
  const work: Work = (subject, of) => scene.work(subject, of);
  if (pool.missing(kind, count) === 0) return pool.take(kind, count, work);
  const agent = scene.world.startAgent({ KULE_AGENT_CONCURRENCY: "8" });
  try {
    return await pool.take(kind, count, work);
  } finally {
    await agent.end();
  }
}
