import { workUntilStopped } from "@kule/agent/agent";
import { ClaimLoop } from "@kule/agent/claim-loop";
import { ControlPlane } from "@kule/agent/control-plane";
import { type AgentRuntime, agentRuntime } from "@kule/agent/runtime";
import { AGENT_VERSION } from "@kule/agent/version";
import type { ControlPlaneJobKind } from "@kule/contract/schemas";
import type { Host, Job, Observed } from "@kule/programs/program";
import type { Deps } from "../platform/deps.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import { ownCalls } from "./own-calls.ts";

/** Jobs at the same time; those that wait for name servers do not count. */
const concurrency = 4;

/** What a worker can do of the control plane's own jobs. */
export type OwnWork = {
  readonly kinds: readonly ControlPlaneJobKind[];
  run(job: Job, host: Host): Promise<Observed>;
};

/**
 * Does the jobs of the control plane itself, those without a region: the agent's own loop, whose claims and reports are
 * calls in this process. So leases, epochs, steps, cancellation and the behaviour when this process is killed are those of
 * a region's jobs. Several workers may do this at the same time; the lease decides which one has a job.
 *
 * @returns once the signal has come and the running jobs were released
 */
export async function workOwnJobs(
  deps: Deps,
  handlers: JobHandlers,
  work: OwnWork,
  stop: AbortSignal,
  runtime: AgentRuntime = agentRuntime,
): Promise<void> {
  const log = deps.log.child({ jobs: "own" });
  const calls = { ...noCalls, ...ownCalls(deps, handlers) };
  const loop = new ClaimLoop({
    controlPlane: new ControlPlane({ calls, runtime, crashPoint: deps.crash }),
    runtime,
    log,
    crashPoint: deps.crash,
    agentVersion: AGENT_VERSION,
    agentName: "worker",
    capabilities: work.kinds,
    // Jobs without a region carry no sealed secrets.
    publicKey: "",
    concurrency,
    run: (job, host) => work.run(job, host),
  });
  log.info({ concurrency, kinds: work.kinds }, "taking the control plane's own jobs");
  await workUntilStopped(loop, log, stop);
}

/** What an agent also calls, and the loop of its jobs does not. */
const refused = () => Promise.reject(new Error("there is no region here"));
const noCalls = {
  me: refused,
  health: refused,
  inventory: refused,
  loadBalancers: refused,
  claimConsole: refused,
};
