import { createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";

/** The result of one call: `data` of a success, `error` of a refusal. */
export type CallResult<Data> = {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: {
    readonly ok: boolean;
    readonly status: number;
    readonly headers: Pick<Headers, "get">;
  };
};

/** The calls an agent makes. Each rejects when nothing answered, or with the signal's reason. */
export type ApiCalls = {
  me(signal: AbortSignal): Promise<CallResult<Schemas["Me"]>>;
  claim(
    body: Schemas["ClaimRequest"],
    signal: AbortSignal,
  ): Promise<CallResult<Schemas["ClaimedJob"] | undefined>>;
  report(
    jobId: string,
    body: Schemas["StepReport"],
    signal: AbortSignal,
  ): Promise<CallResult<Schemas["StepAck"]>>;
  health(body: Schemas["HealthReport"], signal: AbortSignal): Promise<CallResult<Schemas["HealthAck"]>>;
  inventory(
    body: Schemas["InventoryReport"],
    signal: AbortSignal,
  ): Promise<CallResult<Schemas["InventoryAck"]>>;
  loadBalancers(
    body: Schemas["LoadBalancerReport"],
    signal: AbortSignal,
  ): Promise<CallResult<Schemas["LoadBalancerReportAck"]>>;
  claimConsole(
    body: Schemas["ConsoleClaim"],
    signal: AbortSignal,
  ): Promise<CallResult<Schemas["ClaimedConsole"] | undefined>>;
};

/** The calls over HTTP, or by whatever takes requests in its place. */
export function httpCalls(
  url: string,
  token: string,
  send?: (request: Request) => Promise<Response>,
): ApiCalls {
  const client = createApiClient({
    baseUrl: url,
    token,
    readRetries: 0,
    // Each call brings its own, shorter one; this is only the outer fence.
    timeoutMs: 60_000,
    ...(send === undefined ? {} : { send }),
  });
  return {
    me: (signal) => client.GET("/me", { signal }),
    claim: (body, signal) => client.POST("/agent/jobs/claim", { body, signal }),
    report: (jobId, body, signal) =>
      client.POST("/agent/jobs/{job_id}/steps", { params: { path: { job_id: jobId } }, body, signal }),
    health: (body, signal) => client.POST("/agent/health", { body, signal }),
    inventory: (body, signal) => client.POST("/agent/inventory", { body, signal }),
    loadBalancers: (body, signal) => client.POST("/agent/load-balancers", { body, signal }),
    claimConsole: (body, signal) => client.POST("/agent/consoles/claim", { body, signal }),
  };
}
