import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";

/** The calls of a job's page: to wait for its end, and to change it where the API would accept that. */
export function jobCalls({ id, cancellable, retryable }: Schemas["Job"]): readonly CalledOperation[] {
  const path = { job_id: id };
  return [
    { operation: "getJob", path, query: { wait: "20" } },
    ...(cancellable ? [{ operation: "cancelJob", path } as const] : []),
    ...(retryable ? [{ operation: "retryJob", path } as const] : []),
  ];
}
