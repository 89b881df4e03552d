import ky from "ky";
import createFetchClient, { type Client } from "openapi-fetch";
import type { paths } from "./generated/schema.ts";
import type { Schemas } from "./schemas.ts";

export type ApiClient = Client<paths>;

export type ClientOptions = {
  /** The versioned root, such as `http://127.0.0.1:8080/api/v1`. */
  readonly baseUrl: string;
  /** A token; left out for the public calls. */
  readonly token?: string;
  /** For operators: the organisation to act in. */
  readonly organisationId?: string;
  /** Whole-call limit in milliseconds, retries not counted. Long polls need more than they wait. */
  readonly timeoutMs?: number;
  /** How often a read is tried again when nothing answered or the answer was 429, 502, 503 or 504. Default 2. */
  readonly readRetries?: number;
  /** Takes the place of the network. */
  readonly send?: (request: Request) => Promise<Response>;
  /** Sent with every call, for instance to pass a request id on. */
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * A typed client of the whole API: `client.POST("/servers", { body })` answers `{ data, error, response }`.
 * It throws only when nothing answered. Reads are retried; mutations never are, since only the caller can know
 * whether to send the same Idempotency-Key again.
 */
export function createApiClient(options: ClientOptions): ApiClient {
  const headers = new Headers(options.headers);
  if (options.token !== undefined) headers.set("authorization", `Bearer ${options.token}`);
  if (options.organisationId !== undefined) headers.set("kule-organisation", options.organisationId);
  const transport = ky.create({
    timeout: options.timeoutMs ?? 30_000,
    retry: { limit: options.readRetries ?? 2, methods: ["get"], statusCodes: [429, 502, 503, 504] },
    throwHttpErrors: false,
    ...(options.send === undefined ? {} : { fetch: sender(options.send) }),
  });
  return createFetchClient<paths>({
    baseUrl: options.baseUrl,
    headers,
    fetch: (request: Request) => transport(request),
  });
}

function sender(send: (request: Request) => Promise<Response>): typeof fetch {
  return (input, init) => send(new Request(input, init));
}

/** A problem document, when that is what an error is. */
export function asProblem(error: unknown): Schemas["Problem"] | null {
  if (typeof error !== "object" || error === null || !("code" in error) || !("request_id" in error))
    return null;
  return error as Schemas["Problem"];
}
