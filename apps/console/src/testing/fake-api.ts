import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import type { OperationId, Schemas } from "@kule/contract/schemas";
import { validateBody } from "@kule/contract/validate";
import { responseDefect } from "@kule/contract/validate-response";
import { visitorHeader } from "@kule/contract/visitor";
import { type Context, Hono } from "hono";
import { registerAccount } from "./fake-account.ts";
import type { Answer, Operation, Params } from "./fake-operation.ts";
import { FakeState } from "./fake-state.ts";

/** A fake API: real HTTP, real state, every answer checked against the contract. */
export type FakeApi = {
  readonly url: string;
  readonly state: FakeState;
  /** Violations of the contract in the fake's own answers; must stay empty. */
  readonly defects: string[];
  /** Every call so far: `GET /servers?limit=25`. */
  readonly calls: string[];
  /** Every mutation and dry run as it was received, whatever its result. */
  readonly sent: SentCall[];
  /** The visitor of each call, as the console has signed it; null for calls without one. */
  readonly visitors: (string | null)[];
  /** While set, every call is answered with 503, as when the database is away. */
  away: boolean;
  /** While set, every change is refused as a conflict after its body was validated. */
  refuses: boolean;
  stop(): Promise<void>;
};

export type SentCall = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
};

const problemTitles: { readonly [status: number]: string } = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not found",
  409: "Conflict",
  422: "Validation failed",
  429: "Too many requests",
  503: "Unavailable",
};

/** Operations that the API refuses to users who are not operators. */
const ofOperators = /^\/(ip-pools|operator|organisations|regions)(\/|$)|\/(import|lock|unlock)$/;

/** Requests that change nothing although they are not reads. */
const isQuestion = /^\/(auth|catalog|me)\/|\/(explain|test|check)$/;

/** Starts the fake API on a free loopback port. */
export async function startFakeApi(): Promise<FakeApi> {
  const state = new FakeState();
  const defects: string[] = [];
  const calls: string[] = [];
  const sent: SentCall[] = [];
  const visitors: (string | null)[] = [];
  const replies = new Map<string, { readonly request: string; readonly answer: Answer }>();
  const app = new Hono();
  app.use("/api/v1/*", async (context, next) => {
    const { method } = context.req;
    if (method !== "GET") {
      const { pathname, searchParams: query } = new URL(context.req.url);
      const text = await context.req.text();
      const path = pathname.replace("/api/v1", "");
      sent.push({ method, path, query, body: text === "" ? undefined : JSON.parse(text) });
    }
    await next();
  });

  const problem = (
    context: Context,
    status: number,
    code: Schemas["ErrorCode"],
    detail: string,
    more: Partial<Schemas["Problem"]> = {},
  ): Answer => ({
    status,
    headers: { "content-type": "application/problem+json" },
    body: {
      type: `https://kule.dev/errors/${code}`,
      title: problemTitles[status] ?? "Problem",
      status,
      code,
      detail,
      instance: context.req.path,
      request_id: context.req.header("x-request-id") ?? crypto.randomUUID(),
      ...more,
    } satisfies Schemas["Problem"],
  });

  /** Runs one operation: caller, body, idempotency, answer; and checks the answer against the contract. */
  function operation<Body>(
    method: "get" | "post" | "put" | "patch" | "delete",
    path: string,
    id: OperationId,
    handler: (call: {
      readonly params: Params;
      readonly query: URLSearchParams;
      readonly body: Body;
      readonly fail: (
        status: number,
        code: Schemas["ErrorCode"],
        detail: string,
        more?: Partial<Schemas["Problem"]>,
      ) => Answer;
      readonly token: string;
      readonly headers: Headers;
    }) => Answer | Promise<Answer>,
    open = false,
  ): void {
    app.on(method.toUpperCase(), `/api/v1${path}`, async (context) => {
      const url = new URL(context.req.url);
      visitors.push(context.req.header(visitorHeader) ?? null);
      calls.push(`${method.toUpperCase()} ${url.pathname.replace("/api/v1", "")}${url.search}`);
      const answer = await decide(context, url);
      const defect = responseDefect(id, answer.status, answer.body);
      if (defect !== null) defects.push(defect);
      const headers = { "content-type": "application/json", ...answer.headers };
      if (answer.body === undefined) return context.body(null, answer.status as 204);
      return context.body(JSON.stringify(answer.body), answer.status as 200, headers);
    });

    async function decide(context: Context, url: URL): Promise<Answer> {
      const fail = problem.bind(null, context);
      if (fake.away) return fail(503, "unavailable", "The database is away");
      const token = (context.req.header("authorization") ?? "").replace(/^Bearer /, "");
      if (!open && !state.sessions.has(token)) return fail(401, "unauthorized", "The token is not known");
      const caller = state.sessions.get(token);
      if (ofOperators.test(path) && !caller?.permissions.some((held) => held.startsWith("operator:")))
        return fail(403, "forbidden", "This is for operators", { required: ["operator"] });
      const text = await context.req.text();
      let body: unknown;
      if (text !== "" || method === "patch") {
        const checked = validateBody(id, JSON.parse(text));
        if (!checked.ok)
          return fail(422, "validation_failed", "The request is wrong", { errors: checked.errors });
        body = checked.value;
      }
      if (
        fake.refuses &&
        context.req.method !== "GET" &&
        !isQuestion.test(path) &&
        !url.searchParams.has("dry_run")
      )
        return fail(409, "locked", "An operator has locked this");
      const key = context.req.header("idempotency-key");
      const known = key === undefined ? undefined : replies.get(`${id} ${key}`);
      const request = `${url.pathname}${url.search} ${text}`;
      if (known !== undefined) {
        if (known.request !== request)
          return fail(409, "idempotency_key_reused", "The key was used with another request");
        return withoutSecret(known.answer);
      }
      const params = context.req.param() as Params;
      const { headers } = context.req.raw;
      const answer = await handler({
        params,
        query: url.searchParams,
        body: body as Body,
        fail,
        token,
        headers,
      });
      if (key !== undefined && answer.status < 300) replies.set(`${id} ${key}`, { request, answer });
      return answer;
    }
  }

  registerIdentity(operation, state);
  registerAccount(operation, state);
  const { registerProducts } = await import("./fake-products.ts");
  registerProducts(operation, state, app, calls);

  const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 });
  await new Promise<void>((resolve) => server.once("listening", () => resolve()));
  const { port } = server.address() as AddressInfo;
  const fake: FakeApi = {
    url: `http://127.0.0.1:${port}/api/v1`,
    state,
    defects,
    calls,
    sent,
    visitors,
    away: false,
    refuses: false,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
  return fake;
}

/** A replay never repeats a secret. */
function withoutSecret(answer: Answer): Answer {
  const headers = { ...answer.headers, "idempotency-replayed": "true" };
  const body = answer.body as { [name: string]: unknown } | undefined;
  for (const secret of ["console_password", "password", "secret"] as const)
    if (typeof body?.[secret] === "string")
      return { ...answer, headers, body: { ...body, [secret]: null, secret_withheld: true } };
  return { ...answer, headers };
}

function registerIdentity(operation: Operation, state: FakeState): void {
  operation<Schemas["LoginRequest"]>(
    "post",
    "/auth/login",
    "login",
    ({ body, fail }) => {
      const user = state.users.find(({ email }) => email === body.email);
      if (user === undefined || user.password !== body.password)
        return fail(401, "unauthorized", "the e-mail or the password is wrong");
      if (state.hasTwoFactor)
        return {
          status: 202,
          body: {
            sign_in: `sgn_${randomBytes(24).toString("hex")}`,
            expires_at: new Date(Date.now() + 300_000).toISOString(),
            methods: ["totp", "recovery_code", "passkey"],
          } satisfies Schemas["SecondFactorNeeded"],
        };
      const token = `kule_ses_${randomBytes(24).toString("hex")}`;
      state.sessions.set(token, user);
      return {
        status: 200,
        body: {
          token,
          expires_at: new Date(Date.now() + 12 * 3600_000).toISOString(),
          user: { id: user.id, email: user.email, name: user.name },
          organisation: user.organisation,
        } satisfies Schemas["Session"],
      };
    },
    true,
  );
  operation(
    "get",
    "/auth/oidc/providers",
    "listOidcProviders",
    () => ({
      status: 200,
      body: { items: state.hasProvider ? [{ id: "acme", label: "Acme ID" }] : [], next_cursor: null },
    }),
    true,
  );
  operation("post", "/auth/logout", "logout", ({ token }) => {
    state.sessions.delete(token);
    return { status: 204 };
  });
  operation("get", "/me", "getMe", ({ token }) => {
    const user = state.userOf(token);
    return {
      status: 200,
      body: {
        actor: user.organisation === null ? "operator" : "user",
        user: { id: user.id, email: user.email, name: user.name },
        organisation: user.organisation,
        role: user.role,
        permissions: [...user.permissions],
        region: null,
        token: { id: "tok_fake", name: "session", scopes: [], expires_at: null },
      } satisfies Schemas["Me"],
    };
  });
}
