import type { ServerJobKind } from "@kule/contract/schemas";
import { describeJob, type Work } from "./course.ts";
import { type JobScene, latestJob, type Subject, serverStatus } from "./scene.ts";

/** A server needs at most: a stop, a destroy, and another try of each. */
const MOST_TURNS = 6;

/**
 * Removes a server from whatever state it is in, as its owner would. Answers null, or why it is still there.
 */
export async function removeServer(scene: JobScene, subject: Subject, work: Work): Promise<string | null> {
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const status = await serverStatus(scene, subject);
    let kind: ServerJobKind = "ServerDestroy";
    if (status === "deleted") return null;
    if (status === "pending_deletion") await scene.endBuffer(subject);
    else if (status === "deleting") {
      const job = await latestJob(scene, subject, "ServerDestroy");
      if (job?.status === "failed") {
        const answer = await subject.api.post(`/jobs/${job.id}/retry`);
        if (answer.status !== 202) return `its destroy cannot be tried again: ${JSON.stringify(answer.body)}`;
      }
    } else {
      kind = "ServerStop";
      const answer = await subject.api.delete(`/servers/${subject.server}`);
      if (answer.status !== 202) return `it cannot be deleted: ${JSON.stringify(answer.body)}`;
    }
    const job = await work(subject, kind);
    if (job.status !== "succeeded") return `${kind} ${describeJob(job)}`;
  }
  return `it is ${await serverStatus(scene, subject)} after ${MOST_TURNS} jobs`;
}
