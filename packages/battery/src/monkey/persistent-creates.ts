import { setTimeout as delay } from "node:timers/promises";
import type { History } from "@kule/testing/rig/history";

/** Where servers are created, and by whom. */
export type Account = {
  readonly apiUrl: string;
  readonly token: string;
  readonly organisationId: string;
};

export type CreateAttempt = {
  readonly atMs: number;
  /** Null without an answer. */
  readonly status: number | null;
  /** The answer is marked as a replay. */
  readonly isReplay: boolean;
};

export type PersistentCreate = {
  readonly name: string;
  /** The server's id in the accepted answer; null when the client gave up. */
  readonly accepted: string | null;
  readonly attempts: readonly CreateAttempt[];
  /** Answers that a client must never get, and what did not end. */
  readonly wrong: readonly string[];
};

/** No answer in this time is a hang: Postgres' own limits are shorter. */
const TIMEOUT_MS = 30_000;

/**
 * Requests a server until it is accepted, with one Idempotency-Key: after every answer that leaves the
 * outcome open, it repeats the request after a moment. Gives up at the first definite refusal, and with the
 * signal.
 */
export async function createPersistently(
  account: Account,
  name: string,
  { history, random, giveUp }: { history: History; random: () => number; giveUp: AbortSignal },
): Promise<PersistentCreate> {
  const operation = history.invoke({ process: name, operation: "enqueue", key: name, value: name });
  const attempts: CreateAttempt[] = [];
  const wrong: string[] = [];
  const end = (accepted: string | null): PersistentCreate => {
    if (accepted === null) operation.info(attempts.at(-1)?.status);
    else operation.ok(accepted);
    return { name, accepted, attempts, wrong };
  };
  while (!giveUp.aborted) {
    const answer = await post(account, name);
    attempts.push({ atMs: performance.now(), status: answer.status, isReplay: answer.isReplay });
    if (answer.status === 202) return end(answer.server);
    if (answer.hung) wrong.push(`a create of ${name} had no answer after ${TIMEOUT_MS / 1000} s`);
    const isOpen = answer.status === null || answer.status === 503 || answer.status === 429;
    if (!isOpen) {
      wrong.push(
        `create ${name} was answered ${answer.status} at attempt ${attempts.length} (before: ${
          attempts
            .slice(0, -1)
            .map(({ status }) => status ?? "nothing")
            .join(", ") || "none"
        }): ${answer.text.slice(0, 300)}`,
      );
      return end(null);
    }
    if (answer.status === 503 && !answer.saysWhenToRetry)
      wrong.push(`create ${name} was answered 503 without Retry-After`);
    await delay(50 + random() * 500);
  }
  return end(null);
}

type Posted = {
  readonly status: number | null;
  readonly server: string | null;
  readonly text: string;
  readonly saysWhenToRetry: boolean;
  readonly isReplay: boolean;
  readonly hung: boolean;
};

async function post({ apiUrl, token, organisationId }: Account, name: string): Promise<Posted> {
  try {
    const response = await fetch(`${apiUrl}/servers`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${token}`,
        "Kule-Organisation": organisationId,
        "Content-Type": "application/json",
        "Idempotency-Key": `create-${name}`,
      },
      body: JSON.stringify({ name, region: "lab1", image: "ubuntu-24.04", package: "s" }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const { server } = (response.status === 202 ? JSON.parse(text) : {}) as { server?: { id: string } };
    return {
      status: response.status,
      server: server?.id ?? null,
      text,
      saysWhenToRetry: Number(response.headers.get("retry-after")) > 0,
      isReplay: response.headers.get("idempotency-replayed") === "true",
      hung: false,
    };
  } catch (error) {
    const { name: kind } = error as Error;
    return {
      status: null,
      server: null,
      text: String(error),
      saysWhenToRetry: false,
      isReplay: false,
      hung: kind === "TimeoutError",
    };
  }
}
