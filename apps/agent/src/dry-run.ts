// `kule-agent run --dry-run`: what the jobs that wait would do. They are claimed, planned and handed back; the client of
// the hypervisor refuses every call that would change something.

import { validateJobPayload } from "@kule/contract/validate";
import { batteryHook } from "@kule/crash-points/crash-hook";
import { outcomeOfFailure } from "@kule/programs/outcome";
import { NotPlanned } from "@kule/programs/plan-only";
import type { World } from "@kule/programs/program";
import { kindsFor, planJob } from "@kule/programs/registry";
import type { RegionFile } from "@kule/region-config/region-file";
import type { Environment } from "@kule/region-config/secret-references";
import { httpCalls } from "./api-calls.ts";
import { backoffMilliseconds } from "./backoff.ts";
import { type ClaimedJob, ControlPlane, Unanswered } from "./control-plane.ts";
import { confirmRegionNow } from "./own-region.ts";
import { hypervisorClient, regionEdge, regionWorld } from "./region.ts";
import { agentRuntime, withinTime } from "./runtime.ts";
import { existingSealingKey, type SealingKey } from "./sealing-key.ts";
import type { AgentSettings } from "./settings.ts";
import { AGENT_VERSION } from "./version.ts";

/** They are held at the same time, or the same job would be claimed again and again. */
const MOST_JOBS = 20;
/** Each within a part of its lease. */
const PLAN_MILLISECONDS = 20_000;
const RELEASE_MILLISECONDS = 5_000;
/** Of one claim: a kept connection may just have been closed. */
const TRIES = 3;
const LONGEST_BACKOFF_MILLISECONDS = 5_000;

/**
 * Prints a line for each job that waits, and answers how many there are.
 *
 * @throws Unanswered when the control plane does not answer, or refuses; WrongRegion
 */
export async function dryRun(
  file: RegionFile,
  settings: AgentSettings,
  environment: Environment,
  print: (line: string) => void,
  stop: AbortSignal,
): Promise<number> {
  const runtime = agentRuntime;
  const key = existingSealingKey(settings.stateDirectory);
  const controlPlane = new ControlPlane({
    calls: httpCalls(file.controlPlane.url, file.controlPlane.token.reveal()),
    runtime,
    crashPoint: batteryHook(environment),
  });
  const client = hypervisorClient(file, undefined, true);
  const router = regionEdge(file);
  const held = new Map<string, ClaimedJob>();
  try {
    await confirmRegionNow(file.region, controlPlane, stop);
    const claim = async (): Promise<ClaimedJob | null> => {
      const body = {
        claim_id: runtime.uuid(),
        agent_version: AGENT_VERSION,
        agent_name: settings.name,
        capabilities: [...kindsFor(router !== null)],
        wait_seconds: 0,
        ...(key === null ? {} : { public_key: key.publicKey }),
      };
      for (let failures = 0; ; failures++) {
        const answer = await controlPlane.claim(body, stop);
        if (answer.kind === "ok") return answer.value;
        if (answer.kind !== "away" || failures + 1 >= TRIES) throw new Unanswered(answer.message);
        await runtime.pause(
          backoffMilliseconds(failures, LONGEST_BACKOFF_MILLISECONDS, runtime.random()),
          stop,
        );
      }
    };
    for (let job = await claim(); job !== null; job = held.size < MOST_JOBS ? await claim() : null)
      held.set(job.id, job);
    const world = regionWorld(file, client, router?.edge ?? null, key ?? noKey, runtime);
    const jobs = [...held.values()];
    for (const job of jobs) {
      print(`${job.id}  ${job.kind}: ${await planned(job, world, stop)}`);
      await release(controlPlane, job, print);
      held.delete(job.id);
    }
    return jobs.length;
  } finally {
    for (const job of held.values()) await release(controlPlane, job, print);
    client.close();
    router?.end();
  }
}

const noKey: Pick<SealingKey, "open"> = {
  open: () => {
    throw new NotPlanned("this agent has no key yet, and the job holds a secret");
  },
};

async function planned(job: ClaimedJob, world: World, stop: AbortSignal): Promise<string> {
  const payload = validateJobPayload(job.payload);
  if (!payload.ok)
    return `not understood: ${payload.errors.map(({ field, message }) => `${field} ${message}`).join("; ")}`;
  try {
    const steps = await withinTime(agentRuntime, PLAN_MILLISECONDS, stop, (signal) =>
      planJob({ id: job.id, payload: payload.value }, world, { signal }),
    );
    return steps.length === 0 ? "nothing to do" : steps.join(", ");
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    if (error instanceof NotPlanned) return `not planned: ${error.message}`;
    const outcome = outcomeOfFailure(error);
    if (outcome === null) return "not planned: it is not this agent's any more";
    const { status, error: why } = outcome;
    return `would end as ${status}${why ? ` (${why.code}): ${why.internal ?? why.message}` : ""}`;
  }
}

/** No attempt is counted. When the control plane does not answer, the lease ends by itself. */
async function release(
  controlPlane: ControlPlane,
  job: ClaimedJob,
  print: (line: string) => void,
): Promise<void> {
  const body = { epoch: job.epoch, seq: 1, outcome: { status: "released" as const } };
  const { signal } = new AbortController();
  const answer = await controlPlane.report(job.id, body, signal, RELEASE_MILLISECONDS);
  if (answer.kind !== "ok")
    print(`${job.id}  was not handed back (${answer.message}); its lease ends by itself`);
}
