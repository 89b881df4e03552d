import type { ApiCalls, CallResult } from "@kule/agent/api-calls";
import { validateBody } from "@kule/contract/validate";
import { type Claimant, nextJob } from "../agent/claim-job.ts";
import { ClaimedJobs } from "../agent/claimed-jobs.ts";
import { findReportedJob } from "../agent/find-job.ts";
import { recordReport } from "../agent/report-step.ts";
import { crashPoint, withCrashPoints } from "../platform/crash-points.ts";
import type { Deps } from "../platform/deps.ts";
import { Invalid, NotFound } from "../platform/errors.ts";
import type { JobHandlers } from "../platform/job-handler.ts";
import { refusalOf, renderProblem } from "../platform/problem.ts";

/** Its name in jobs, for operators. The jobs themselves are the system's: it has no token. */
const worker: Claimant = { region: null, tokenId: null, name: "worker" };

/**
 * The calls of the loop that does the control plane's own jobs: the functions behind the agent's operations, without HTTP
 * and without a token. They reach jobs without a region only.
 */
export function ownCalls(deps: Deps, handlers: JobHandlers): Pick<ApiCalls, "claim" | "report"> {
  const claimed = new ClaimedJobs();
  return {
    claim: (body, signal) =>
      answered(deps, "worker.claim_job", async () => {
        const job = await nextJob({
          deps,
          handlers,
          claimed,
          claimant: worker,
          body,
          disconnected: signal,
        });
        return job === null ? undefined : { job };
      }),
    report: (jobId, body) =>
      answered(deps, "worker.report_step", async () => {
        // Texts of a provider come this far: what the contract refuses of an agent is refused here too.
        const report = validateBody("reportStep", body);
        if (!report.ok) throw new Invalid(report.errors, "validation_failed", report.leftOut);
        const found = await findReportedJob(deps.db, claimed, jobId, worker.region);
        if (found === null) throw new NotFound();
        return recordReport({ deps, handlers, claimed }, found, report.value);
      }),
  };
}

/** The answer as the loop reads it; rejects, as a call that nothing answers does, for an error of ours. */
async function answered<Data>(
  deps: Deps,
  name: string,
  work: () => Promise<Data>,
): Promise<CallResult<Data>> {
  try {
    const data = await withCrashPoints(deps.crash, name, async () => {
      await crashPoint("before-begin");
      const done = await work();
      await crashPoint("done");
      return done;
    });
    return { data, response: { ok: true, status: data === undefined ? 204 : 200, headers: new Headers() } };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    const { status, headers, body } = renderProblem(error, { requestId: name, path: "" });
    return { error: body, response: { ok: false, status, headers: new Headers(headers) } };
  }
}
