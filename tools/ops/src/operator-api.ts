import { randomUUID } from "node:crypto";
import { type ApiClient, asProblem, createApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";

export type Send = (request: Request) => Promise<Response>;

/** A request as a dry run shows it. The token is never shown. */
export type ShownRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
};

/** The API refused the request, or nothing answered. */
export class Failed extends Error {
  /** Null when nothing answered, or something else than the API. */
  readonly problem: Schemas["Problem"] | null;

  constructor(message: string, problem: Schemas["Problem"] | null, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** In the place of what only an answer would say. */
const unknownId = "ID-OF-THE-ANSWER-BEFORE";

/** How often a request is sent again when it was refused for its number, and when nothing answered. */
const mostWaits = 20;
const mostRetries = 2;

/** The calls of one command: the contract's client, with the token of an operator. */
export class OperatorApi {
  readonly baseUrl: string;
  /** What a dry run would have sent. */
  readonly shown: ShownRequest[] = [];
  /** In a dry run, stands for an id that only an answer would say. */
  readonly unknownId = unknownId;
  /** A line for standard error. */
  readonly note: (line: string) => void;
  readonly pause: (milliseconds: number) => Promise<void>;
  readonly #token: string;
  readonly #send: Send;
  readonly #key: string;
  readonly #isDryRun: boolean;
  #mutations = 0;

  constructor(options: {
    readonly baseUrl: string;
    readonly token: string;
    readonly isDryRun: boolean;
    /** The key of an earlier run that is to be repeated without a second effect. */
    readonly idempotencyKey: string | undefined;
    readonly send?: Send;
    readonly pause?: (milliseconds: number) => Promise<void>;
    readonly note: (line: string) => void;
  }) {
    this.baseUrl = options.baseUrl;
    this.#token = options.token;
    this.#key = options.idempotencyKey ?? `ops-${randomUUID()}`;
    this.#isDryRun = options.isDryRun;
    this.note = options.note;
    this.pause = options.pause ?? sleep;
    this.#send = options.isDryRun
      ? (request) => this.#show(request)
      : patient(options.send ?? ((request) => fetch(request)), this.pause, this.note);
  }

  /** @param organisationId whose resources are read */
  client(organisationId?: string): ApiClient {
    return createApiClient({
      baseUrl: this.baseUrl,
      token: this.#token,
      timeoutMs: 300_000,
      // `send` does it, and says so.
      readRetries: 0,
      send: this.#send,
      ...(organisationId === undefined ? {} : { organisationId }),
    });
  }

  /** The headers of the next change: run again with `--idempotency-key`, it is done once. */
  once(): { readonly "Idempotency-Key": string } {
    this.#mutations += 1;
    return { "Idempotency-Key": `${this.#key}-${this.#mutations}` };
  }

  /** @throws Failed when the API refused, or nothing answered */
  async ask<Data>(
    call: Promise<{ readonly data?: Data; readonly error?: unknown; readonly response: Response }>,
  ): Promise<Data> {
    const hint =
      this.#mutations === 0
        ? ""
        : `\n  to send it again without a second effect: --idempotency-key ${this.#key}`;
    const { data, error, response } = await call.catch((cause: unknown) => {
      throw new Failed(`nothing answers at ${this.baseUrl}: ${reasonOf(cause)}${hint}`, null, { cause });
    });
    if (response.ok) return data as Data;
    const problem = asProblem(error);
    if (problem !== null) throw new Failed(problem.detail, problem);
    throw new Failed(
      `${new URL(response.url || this.baseUrl).origin} answered ${response.status}, not as the API does${hint}`,
      null,
    );
  }

  /** All pages of a list, up to a number of items. */
  async all<Item>(
    most: number,
    page: (cursor: string | undefined) => Promise<{ items: readonly Item[]; next_cursor: string | null }>,
  ): Promise<{ readonly items: readonly Item[]; readonly isWhole: boolean }> {
    const items: Item[] = [];
    let cursor: string | undefined;
    for (;;) {
      const { items: more, next_cursor: next } = await page(cursor);
      const room = most - items.length;
      items.push(...more.slice(0, room));
      if (more.length > room) return { items, isWhole: false };
      if (next === null) return { items, isWhole: true };
      if (items.length >= most) return { items, isWhole: false };
      cursor = next;
    }
  }

  async #show(request: Request): Promise<Response> {
    const text = await request.text();
    const headers = Object.fromEntries(request.headers);
    this.shown.push({
      method: request.method,
      url: request.url,
      headers: { ...headers, authorization: "Bearer (the token)" },
      body: text === "" ? null : JSON.parse(text),
    });
    return Response.json({ id: unknownId, items: [], next_cursor: null });
  }

  get isDryRun(): boolean {
    return this.#isDryRun;
  }
}

/** What was at the beginning: `fetch failed` alone says nothing. */
function reasonOf(error: unknown): string {
  let first = error;
  while (first instanceof Error && first.cause instanceof Error) first = first.cause;
  return first instanceof Error ? first.message : String(first);
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/**
 * Waits where the API says how long. What may have been done is sent again only under its Idempotency-Key, so that it is
 * done once.
 */
function patient(
  send: Send,
  pause: (milliseconds: number) => Promise<void>,
  note: (line: string) => void,
): Send {
  return async (request) => {
    const isSafe = request.method === "GET" || request.headers.has("idempotency-key");
    for (let waits = 0, retries = 0; ; ) {
      const response = await send(request.clone()).catch((error: unknown) => {
        if (!isSafe || retries >= mostRetries) throw error;
        return null;
      });
      if (response?.status === 429 && waits < mostWaits) {
        waits += 1;
        const seconds = Math.min(60, Math.max(1, Number(response.headers.get("retry-after") ?? "1") || 1));
        note(`the API takes no more requests now; going on in ${seconds} s`);
        await pause(seconds * 1000);
        continue;
      }
      const isTemporary = response === null || [502, 503, 504].includes(response.status);
      if (!isTemporary || !isSafe || retries >= mostRetries) return response as Response;
      retries += 1;
      await pause(1_000 * retries);
    }
  };
}
