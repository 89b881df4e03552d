import { existsSync, readFileSync } from "node:fs";
import { testApiSecret, testPanelOrigin } from "@kule/api/testing/api-world";
import type { MutationCall } from "@kule/api/testing/proofs/mutation-cases";
import { targetOf } from "@kule/api/testing/proofs/operation-call";
import { operations } from "@kule/contract/generated/operations";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";

export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly text: string };

/** The API as it ships, as a process of its own, with its crash point in its environment. */
export class KillableApi {
  readonly process: TestProcess;
  readonly #url: string;
  readonly #trace: string | undefined;

  private constructor(process: TestProcess, url: string, trace: string | undefined) {
    this.process = process;
    this.#url = url;
    this.#trace = trace;
  }

  /** @param battery BATTERY_CRASH and its like */
  static async start(
    main: string,
    databaseUrl: string,
    battery: Readonly<Record<string, string>>,
  ): Promise<KillableApi> {
    const port = await findFreePort();
    const process = startProcess("api", [main, "serve"], {
      ...apiEnvironment(databaseUrl),
      KULE_API_PORT: String(port),
      // Only a worker reads it: the mails of these worlds wait in the queue.
      KULE_MAIL_FILE: "mail.yaml",
      ...battery,
    });
    return new KillableApi(process, `http://127.0.0.1:${port}/api/v1`, battery.BATTERY_TRACE);
  }

  async untilReady(): Promise<void> {
    await untilReady(this.process, async () => ((await fetch(`${this.#url}/readyz`)).ok ? true : undefined));
  }

  /** Null without an answer. */
  async send(call: MutationCall, idempotencyKey: string): Promise<HttpAnswer | null> {
    const { headerParameters, method } = operations[call.operation];
    try {
      const response = await fetch(`${this.#url}${targetOf(call)}`, {
        method: method.toUpperCase(),
        headers: {
          ...(call.caller.token === null ? {} : { Authorization: `Bearer ${call.caller.token}` }),
          ...Object.fromEntries(new Headers(call.caller.headers)),
          ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(headerParameters.includes("Idempotency-Key") ? { "Idempotency-Key": idempotencyKey } : {}),
          Connection: "close",
        },
        ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
        signal: AbortSignal.timeout(15_000),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch {
      return null;
    }
  }

  /** The crash points passed so far, if it was started with a trace. */
  passed(): string[] {
    if (this.#trace === undefined || !existsSync(this.#trace)) return [];
    return readFileSync(this.#trace, "utf8").split("\n").slice(0, -1);
  }
}

/** Longer than the row takes: no case finds that the lease or the quarantine of an earlier one has ended. */
export const lastingSettings = { leaseSeconds: 3600, addressQuarantineSeconds: 86_400 };

/** A test build with room for everything, whose leases and quarantines outlast the row. */
export function apiEnvironment(databaseUrl: string): Readonly<Record<string, string>> {
  return {
    KULE_DATABASE_URL: databaseUrl,
    KULE_TEST_BUILD: "1",
    // As the API of the proofs has them, which begins what this one ends.
    KULE_API_SECRET: testApiSecret,
    KULE_CONSOLE_ORIGINS: testPanelOrigin,
    KULE_LEASE_SECONDS: String(lastingSettings.leaseSeconds),
    KULE_ADDRESS_QUARANTINE_SECONDS: String(lastingSettings.addressQuarantineSeconds),
    KULE_RATE_LIMIT_PER_HOUR: "100000000",
    KULE_RATE_LIMIT_BURST: "1000000",
    KULE_LOG_LEVEL: "error",
  };
}
