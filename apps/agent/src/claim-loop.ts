// Claims jobs for as long as there is capacity, one open claim at a time. A claim is repeated with the same
// id until its reply was read, so that a job whose reply was lost does not wait for the end of its lease.

import type { JobKind, Schemas } from "@kule/contract/schemas";
import { Released, StaleLease } from "@kule/programs/errors";
import { type AgentWatcher, unwatched } from "./agent-watcher.ts";
import { backoffMilliseconds } from "./backoff.ts";
import { type ClaimedJob, Unanswered } from "./control-plane.ts";
import { type JobDependencies, RunningJob } from "./run-claimed-job.ts";
import { pausedFully, withinTime } from "./runtime.ts";

const WAIT_SECONDS = 20;
const LONGEST_BACKOFF_MILLISECONDS = 30_000;
/** A refused token needs an operator; more frequent claims would only fill the logs. */
const REFUSED_PAUSE_MILLISECONDS = 60_000;
/** A control plane that answers "nothing" without waiting must not be called without pause. */
const SHORTEST_EMPTY_CLAIM_MILLISECONDS = 1_000;
/**
 * This many jobs that wait for their guests use no place. With more, the agent would hold leases without end.
 */
const MOST_IDLE_JOBS = 60;
/** Of one claim, for an agent that ends when there is nothing to do. */
const TRIES_OF_ONE_ROUND = 5;
/** For a job whose claim was open when the agent had to stop. */
const SETTLE_CLAIM_MILLISECONDS = 2_000;

export type ClaimLoopOptions = JobDependencies & {
  readonly agentVersion: string;
  readonly agentName: string;
  readonly capabilities: readonly JobKind[];
  /** Of the key that this agent opens secrets with. */
  readonly publicKey: string;
  /** Jobs at the same time, not counting those that wait for their guests. */
  readonly concurrency: number;
  /** The pause after a refusal that is not temporary. */
  readonly refusedPauseMilliseconds?: number;
};

type Claim = { readonly job: ClaimedJob; readonly sentAt: number };

export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  readonly #watcher: AgentWatcher;
  readonly #running = new Map<string, { readonly job: RunningJob; readonly ended: Promise<void> }>();
  /** Settles when a job begins or ends to wait for its guest, and when claiming is held. */
  #idleChange = Promise.withResolvers<void>();
  #hold = new Hold();

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
    this.#watcher = options.watcher ?? unwatched;
  }

  get runningJobs(): number {
    return this.#running.size;
  }

  /** No job is claimed from now on; those that run continue. Resolves when no claim is open any more. */
  hold(): Promise<void> {
    this.#hold.begin();
    this.#wake();
    return this.#hold.parked.promise;
  }

  resume(): void {
    this.#hold.over.resolve();
    this.#hold = new Hold();
  }

  /** Claims and runs until the signal; then no new job is begun. Running jobs continue: see `releaseJobs`. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const hold = this.#hold;
      if (hold.signal.aborted) {
        hold.parked.resolve();
        await untilAborted(stop, [hold.over.promise]);
        continue;
      }
      if (this.#isFull()) {
        await this.#untilSlotFree(stop);
        continue;
      }
      const claim = await this.#claim(AbortSignal.any([stop, hold.signal]));
      if (claim === null) continue;
      await this.#endEarlierRunOf(claim.job.id);
      this.#start(claim, stop.aborted);
    }
  }

  /**
   * Claims and runs what waits now, and resolves when nothing is left or at the signal. Jobs that still run then
   * continue: see `releaseJobs`.
   *
   * @throws Unanswered when the control plane does not answer, or refuses
   */
  async runWaiting(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const claim = this.#isFull() ? null : await this.#claimNow(stop);
      if (claim !== null) {
        await this.#endEarlierRunOf(claim.job.id);
        this.#start(claim, stop.aborted);
      } else if (this.#running.size === 0) return;
      else await this.#untilSlotFree(stop);
    }
  }

  /**
   * Lets every job stop before its next effect and reports it as released. What is still running after the
   * grace period is aborted. Resolves when no job is left.
   */
  async releaseJobs(graceMilliseconds: number): Promise<void> {
    const all = () => Promise.all([...this.#running.values()].map(({ ended }) => ended));
    for (const { job } of this.#running.values()) job.stopBeforeNextEffect();
    const timer = this.#options.runtime.pause(graceMilliseconds).then(() => {
      for (const { job } of this.#running.values()) job.breakOff(new Released());
    });
    await Promise.race([all(), timer]);
    await all();
  }

  #start({ job: claimed, sentAt }: Claim, stopping: boolean): void {
    const job = new RunningJob(claimed, sentAt, this.#options, () => this.#wake());
    if (stopping) job.breakOff(new Released());
    this.#watcher.jobClaimed(claimed.id, claimed.kind);
    const ended = job.run().finally(() => {
      if (this.#running.get(claimed.id)?.job !== job) return;
      this.#running.delete(claimed.id);
      this.#watcher.jobGone(claimed.id);
    });
    this.#running.set(claimed.id, { job, ended });
  }

  /** The same job again means that its earlier lease is over: that run must be gone before the next one begins. */
  async #endEarlierRunOf(jobId: string): Promise<void> {
    const earlier = this.#running.get(jobId);
    if (earlier === undefined) return;
    earlier.job.breakOff(new StaleLease("the job was claimed again"));
    await earlier.ended;
  }

  #isFull(): boolean {
    const idle = [...this.#running.values()].filter(({ job }) => job.isIdle).length;
    return this.#running.size - Math.min(idle, MOST_IDLE_JOBS) >= this.#options.concurrency;
  }

  #wake(): void {
    this.#idleChange.resolve();
    this.#idleChange = Promise.withResolvers<void>();
  }

  async #untilSlotFree(stop: AbortSignal): Promise<void> {
    const ended = [...this.#running.values()].map((each) => each.ended);
    await untilAborted(stop, [this.#idleChange.promise, ...ended]);
  }

  /** A job; null when there was none or the agent is to stop. */
  async #claim(stop: AbortSignal): Promise<Claim | null> {
    const { controlPlane, runtime, log } = this.#options;
    const body = this.#request(runtime.uuid(), WAIT_SECONDS);
    for (let failures = 0; !stop.aborted; failures++) {
      const sentAt = runtime.monotonic();
      const answer = await controlPlane.claim(body, stop).catch((error: unknown) => {
        if (stop.aborted) return null;
        throw error;
      });
      if (answer === null) return this.#settleClaim(body.claim_id);
      this.#watcher.controlPlaneAnswered(answer.kind === "ok" ? null : answer.message);
      let pause: number;
      if (answer.kind === "ok") {
        if (answer.value !== null) return { job: answer.value, sentAt };
        const rest = SHORTEST_EMPTY_CLAIM_MILLISECONDS - (runtime.monotonic() - sentAt);
        if (rest > 0) await pausedFully(runtime, rest, stop);
        return null;
      }
      if (answer.kind === "away") {
        const backoff = backoffMilliseconds(failures, LONGEST_BACKOFF_MILLISECONDS, runtime.random());
        pause = Math.max(backoff, (answer.retryAfterSeconds ?? 0) * 1000);
        log.warn({ reason: answer.message, tries: failures + 1 }, "the control plane does not answer");
      } else {
        pause = this.#options.refusedPauseMilliseconds ?? REFUSED_PAUSE_MILLISECONDS;
        log.error(
          { alarm: true, reason: answer.message, retry_seconds: pause / 1000 },
          answer.kind === "unauthorized"
            ? "the control plane does not accept the agent's token: no jobs are taken. Give the agent a valid token and restart it"
            : "the control plane refuses the agent's claims: no jobs are taken. Check control_plane and the versions of both",
        );
      }
      if (!(await pausedFully(runtime, pause, stop))) return this.#settleClaim(body.claim_id);
    }
    return null;
  }

  /** A job that waits now; null when there is none or the agent is to stop. */
  async #claimNow(stop: AbortSignal): Promise<Claim | null> {
    const { controlPlane, runtime } = this.#options;
    const body = this.#request(runtime.uuid(), 0);
    for (let failures = 0; ; failures++) {
      const sentAt = runtime.monotonic();
      const answer = await controlPlane.claim(body, stop).catch((error: unknown) => {
        if (stop.aborted) return null;
        throw error;
      });
      if (answer === null) return this.#settleClaim(body.claim_id);
      if (answer.kind === "ok") return answer.value === null ? null : { job: answer.value, sentAt };
      if (answer.kind !== "away" || failures + 1 >= TRIES_OF_ONE_ROUND) throw new Unanswered(answer.message);
      const pause = backoffMilliseconds(failures, LONGEST_BACKOFF_MILLISECONDS, runtime.random());
      if (!(await pausedFully(runtime, pause, stop))) return this.#settleClaim(body.claim_id);
    }
  }

  /**
   * The open claim may have been given a job whose answer was not read. Repeated with its id and no
   * capabilities, it is answered that job and never a new one; the job is released at once.
   */
  async #settleClaim(claimId: string): Promise<Claim | null> {
    const { controlPlane, runtime } = this.#options;
    const sentAt = runtime.monotonic();
    const body = { ...this.#request(claimId, 0), capabilities: [] };
    const answer = await withinTime(runtime, SETTLE_CLAIM_MILLISECONDS, null, (signal) =>
      controlPlane.claim(body, signal),
    ).catch(() => null);
    return answer?.kind === "ok" && answer.value !== null ? { job: answer.value, sentAt } : null;
  }

  #request(claimId: string, waitSeconds: number): Schemas["ClaimRequest"] {
    const { agentVersion, agentName, capabilities, publicKey } = this.#options;
    return {
      claim_id: claimId,
      agent_version: agentVersion,
      agent_name: agentName,
      capabilities: [...capabilities],
      wait_seconds: waitSeconds,
      public_key: publicKey,
    };
  }
}

/** A time without claims, until it is over. */
class Hold {
  readonly #begun = new AbortController();
  /** No claim is open any more. */
  readonly parked = Promise.withResolvers<void>();
  readonly over = Promise.withResolvers<void>();

  get signal(): AbortSignal {
    return this.#begun.signal;
  }

  begin(): void {
    this.#begun.abort();
  }
}

/** Resolves with the first of them, or at the signal. */
async function untilAborted(stop: AbortSignal, others: readonly Promise<void>[]): Promise<void> {
  const stopped = Promise.withResolvers<void>();
  const listener = () => stopped.resolve();
  stop.addEventListener("abort", listener, { once: true });
  await Promise.race([stopped.promise, ...others]);
  stop.removeEventListener("abort", listener);
}
