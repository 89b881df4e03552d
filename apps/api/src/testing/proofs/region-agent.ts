import { randomUUID } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import type { ApiCaller } from "../api-caller.ts";
import { capabilities, type Outcome, withObservedResult } from "../test-agent.ts";

export type ClaimedJob = {
  readonly id: string;
  readonly epoch: number;
  readonly kind: string;
  readonly payload: Schemas["JobPayload"];
};

/**
 * Claims this job as the region's agent would; earlier jobs are released to the queue, except those that apply
 * networks and firewalls: they are ended as done.
 *
 * @throws Error when the region does not offer it
 */
export async function claimThis(
  agent: ApiCaller,
  jobId: string,
  kinds: readonly string[] = capabilities,
): Promise<ClaimedJob> {
  const inTheWay: ClaimedJob[] = [];
  try {
    for (;;) {
      const claimed = await claimNext(agent, kinds);
      if (claimed.status !== 200) throw new Error(`no claim of ${jobId}: ${JSON.stringify(claimed)}`);
      const job = claimed.body.job as ClaimedJob;
      if (job.id === jobId) return job;
      // There may be hundreds of these, and no test waits for one that it does not name. Each one that is released
      // is in the way of every later claim.
      if (job.kind === "NetworkApply" || job.kind === "FirewallApply") await endAsDone(agent, job);
      else inTheWay.push(job);
    }
  } finally {
    for (const job of inTheWay) await end(agent, job, { status: "released" });
  }
}

/** Claims the job and ends it without having done anything: only the API's handling of it matters here. */
export async function runJob(
  agent: ApiCaller,
  jobId: string,
  outcome: Readonly<Record<string, unknown>> = { status: "succeeded", observed: { power_state: "on" } },
  kinds: readonly string[] = capabilities,
): Promise<void> {
  const job = await claimThis(agent, jobId, kinds);
  await end(agent, job, withObservedResult(job.payload, outcome as Outcome));
}

/** Brings all that waits for the region's edge. */
export async function emptyEdgeQueue(agent: ApiCaller): Promise<void> {
  for (;;) {
    const claimed = await claimNext(agent, ["NetworkApply"]);
    if (claimed.status === 204) return;
    if (claimed.status !== 200) throw new Error(`no claim for the edge: ${JSON.stringify(claimed)}`);
    await endAsDone(agent, claimed.body.job as ClaimedJob);
  }
}

function claimNext(agent: ApiCaller, kinds: readonly string[]) {
  return agent.post("/agent/jobs/claim", {
    claim_id: randomUUID(),
    agent_version: "0.0.0",
    capabilities: kinds,
    wait_seconds: 0,
  });
}

async function endAsDone(agent: ApiCaller, job: ClaimedJob): Promise<void> {
  await end(agent, job, withObservedResult(job.payload, { status: "succeeded" }));
}

async function end(agent: ApiCaller, job: ClaimedJob, outcome: object): Promise<void> {
  const report = { epoch: job.epoch, seq: 1, phase: "verify", outcome };
  const ended = await agent.post(`/agent/jobs/${job.id}/steps`, report);
  if (ended.status !== 200) throw new Error(`no end of ${job.id}: ${JSON.stringify(ended)}`);
}
