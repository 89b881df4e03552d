import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId, Schemas } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";
import { visitorHeader } from "@kule/contract/visitor";

/** An API on a loopback port, and everything that the panel has asked it. */
export type RecordedApi = {
  readonly url: string;
  /** Every call so far: `GET /servers?limit=25`. */
  readonly calls: string[];
  /** Every mutation and dry run as it was received, whatever its result. */
  readonly sent: SentCall[];
  /** The visitor of each call, as the panel has signed it; null for calls without one. */
  readonly visitors: (string | null)[];
  /** While set, every call is answered with 503, as when the database is away. */
  away: boolean;
  /** While set, the calls that it matches are answered so: `GET /servers?limit=25`. */
  awayFor: RegExp | null;
  /** While set, the calls that it matches are answered with 429, as when too many are made at the same time. */
  busyFor: RegExp | null;
  /** While set, every change whose body fits the contract is answered with 409. */
  refuses: boolean;
  /** As `refuses`, for the calls that match, such as "POST /me/passkey-options". */
  refusesFor: RegExp | null;
};

export type SentCall = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
};

/** Answers a request; `env` is the connection that it came by. */
export type Answering = (request: Request, env: unknown) => Response | Promise<Response>;

/** The loopback port at which the panel reaches an API. */
export type ApiPort = {
  readonly api: RecordedApi;
  stop(): Promise<void>;
};

const root = "/api/v1";

export async function openApiPort(answering: Answering): Promise<ApiPort> {
  const server = serve({
    fetch: (request, env) => answer(api, answering, request, env),
    hostname: "127.0.0.1",
    port: 0,
  });
  if (!server.listening) await new Promise<void>((resolve) => server.once("listening", () => resolve()));
  // The panel is in this process. After a pause of the process, its next call would take a connection that is closed.
  if ("keepAliveTimeout" in server) server.keepAliveTimeout = 0;
  const api: RecordedApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${root}`,
    calls: [],
    sent: [],
    visitors: [],
    away: false,
    awayFor: null,
    busyFor: null,
    refuses: false,
    refusesFor: null,
  };
  return {
    api,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}

async function answer(
  api: RecordedApi,
  answering: Answering,
  request: Request,
  env: unknown,
): Promise<Response> {
  const { method } = request;
  const { pathname, search, searchParams: query } = new URL(request.url);
  const path = pathname.replace(root, "");
  const call = `${method} ${path}${search}`;
  api.calls.push(call);
  api.visitors.push(request.headers.get(visitorHeader));
  let body: unknown;
  if (method !== "GET") {
    const text = await request.clone().text();
    body = text === "" ? undefined : JSON.parse(text);
    api.sent.push({ method, path, query, body });
  }
  if (api.away || api.awayFor?.test(call) === true)
    return problem(503, "unavailable", "The database is away", path);
  if (api.busyFor?.test(call) === true)
    return problem(429, "rate_limited", "Too many at the same time", path);
  if (
    api.refusesFor?.test(call) === true ||
    (api.refuses && query.get("dry_run") !== "true" && isValidChange(method, path, body))
  )
    return problem(409, "locked", "An operator has locked this", path);
  return answering(request, env);
}

/** Whether the call would change a resource; what does not fit the contract is for the API to refuse. */
function isValidChange(method: string, path: string, body: unknown): boolean {
  const parts = path.split("/");
  const operation = Object.values(operations).find((each) => {
    const pattern = each.path.split("/");
    return (
      each.method === method.toLowerCase() &&
      pattern.length === parts.length &&
      pattern.every((part, index) => part.startsWith("{") || part === parts[index])
    );
  });
  if (operation === undefined || operation.audit === null || /^\/(auth|me)\//.test(path)) return false;
  return operation.body === null || body === undefined || validateBody(operation.id as OperationId, body).ok;
}

function problem(status: number, code: Schemas["ErrorCode"], detail: string, instance: string): Response {
  const body: Schemas["Problem"] = {
    type: `https://kule.dev/errors/${code}`,
    title: code,
    status,
    code,
    detail,
    instance,
    request_id: crypto.randomUUID(),
  };
  return Response.json(body, { status, headers: { "content-type": "application/problem+json" } });
}
