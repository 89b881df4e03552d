import { fittedOutcome, stepReport } from "@kule/agent/report-text";
import type { ClaimedJob, TestAgent } from "@kule/api/testing/test-agent";
import type { JobPayload } from "@kule/contract/schemas";
import { validateJobPayload } from "@kule/contract/validate";
import { Cancelled, StaleLease } from "@kule/programs/errors";
import { outcomeOfFailure } from "@kule/programs/outcome";
import type { Host, Job, Observed, StepEvent, World } from "@kule/programs/program";
import { runJob } from "@kule/programs/registry";

/** How a claimed job is run; `runJob` is what agents do. */
export type Runner = (job: Job<JobPayload>, world: World, host: Host) => Promise<Observed>;

/**
 * A complete agent in this process: claims, runs the real programs, reports. Its pauses are those of the
 * world's runtime.
 */
export class LocalAgent {
  readonly #agent: TestAgent;
  readonly #world: World;

  constructor(agent: TestAgent, world: World) {
    this.#agent = agent;
    this.#world = world;
  }

  /** Claims one job and carries it to the end of its attempt. Null when there was none. */
  async workOnce(run: Runner = runJob, onEvent: (event: StepEvent) => unknown = () => {}) {
    const claimed = await this.#agent.claim();
    if (claimed === null) return null;
    const payload = validateJobPayload(claimed.payload);
    if (!payload.ok) throw new Error(`the payload of ${claimed.id}: ${JSON.stringify(payload.errors)}`);
    const host: Host = {
      report: async (event) => {
        await onEvent(event);
        await this.#report(claimed, event);
      },
      lease: { remainingFraction: () => 1 },
    };
    const outcome = await run({ id: claimed.id, payload: payload.value }, this.#world, host).then(
      (observed) => ({ status: "succeeded" as const, observed: { ...observed } }),
      outcomeOfFailure,
    );
    if (outcome !== null) await this.#agent.report(claimed, { outcome: fittedOutcome(outcome as never) });
    return claimed;
  }

  async #report(claimed: ClaimedJob, event: StepEvent): Promise<void> {
    const { status, body } = await this.#agent.report(claimed, stepReport(event));
    if (status === 409) throw new StaleLease();
    if (status !== 200) throw new Error(`a report was answered ${status} ${JSON.stringify(body)}`);
    if (body.cancel_requested && !event.irreversible) throw new Cancelled();
  }
}
