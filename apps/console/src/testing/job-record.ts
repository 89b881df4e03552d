import type { Schemas } from "@kule/contract/schemas";

/** A queued job as the API answers with it, for tests of what is made from a job alone. */
export function jobRecord(given: Partial<Schemas["Job"]> = {}): Schemas["Job"] {
  return {
    id: "job_06ex2v3m8n4k6q1r5s7t9w0y2z",
    kind: "ServerCreate",
    action: null,
    status: "queued",
    done: false,
    region: "ist1",
    resource: { type: "server", id: "srv_06ex2v3m8n4k6q1r5s7t9w0y2z", name: "web-1" },
    phase: null,
    progress: 0,
    steps: [],
    error: null,
    attempt: 0,
    max_attempts: 8,
    next_attempt_at: null,
    cancellable: true,
    cancel_requested: false,
    retryable: false,
    requested_by: { type: "user", id: "usr_06ex2v3m8n4k6q1r5s7t9w0y2z", name: "Ada Lovelace" },
    request_id: "0193c7a4-6f1e-7c02-9a55-2f6a1f0f4b11",
    queued_behind: null,
    created_at: "2026-11-01T09:00:00.000Z",
    started_at: null,
    finished_at: null,
    ...given,
  };
}
