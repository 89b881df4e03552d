import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";

/**
 * A reverse proxy as people put in front of Kule: it asks each process again and again whether it is ready, sends requests to those
 * that are, keeps its connections to them, and tries another one only when a connection was refused. What goes wrong on the way is
 * recorded.
 */
export type CheckedProxy = {
  readonly origin: string;
  add(origin: string): void;
  /** Resolves when the process is ready. */
  added(origin: string): Promise<void>;
  remove(origin: string): void;
  /** Requests by origin. */
  readonly counts: ReadonlyMap<string, number>;
  /** Each as a sentence: no process was ready, a connection broke, or an answer says that the server is at fault. */
  readonly failures: readonly string[];
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  close(): Promise<void>;
};

type Backend = { readonly origin: URL; readonly agent: http.Agent; isReady: boolean };

const mostFailures = 200;

export type CheckedProxyOptions = {
  /** Path that is answered 200 by a process that is ready. */
  readonly check: string;
  /** What one process does not have below this path is asked of another one, as the samples of infra/server/proxies do. */
  readonly elsewhere?: string;
  /** Between two questions to one process. */
  readonly everyMs?: number;
};

export async function startCheckedProxy({
  check,
  elsewhere,
  everyMs = 100,
}: CheckedProxyOptions): Promise<CheckedProxy> {
  const backends = new Map<string, Backend>();
  const counts = new Map<string, number>();
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  const fail = (text: string) => void (failures.length < mostFailures && failures.push(text));
  let next = 0;

  const ask = (backend: Backend) =>
    new Promise<boolean>((settle) => {
      const asked = http.get(new URL(check, backend.origin), { agent: false, timeout: 5_000 }, (response) => {
        response.resume();
        settle(response.statusCode === 200);
      });
      asked.on("timeout", () => asked.destroy());
      asked.on("error", () => settle(false));
    });
  const timer = setInterval(() => {
    for (const backend of backends.values()) void ask(backend).then((isReady) => (backend.isReady = isReady));
  }, everyMs);

  const ready = (except: Backend | null) => {
    const all = [...backends.values()].filter((each) => each.isReady && each !== except);
    next += 1;
    return all[next % all.length];
  };

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = `${request.method} ${request.url?.split("?")[0]}`;
    const body = await buffer(request);
    let mayBeElsewhere = elsewhere !== undefined && (request.url?.startsWith(elsewhere) ?? false);
    let without: Backend | null = null;
    for (let attempts = 0; attempts < 3; attempts += 1) {
      const backend: Backend | null = ready(without) ?? without;
      if (backend === null) break;
      const sent = await forward(backend, request, body, response, mayBeElsewhere);
      if (sent.kind === "missing") {
        mayBeElsewhere = false;
        without = backend;
        continue;
      }
      if (sent.kind === "refused") {
        backend.isReady = false;
        continue;
      }
      counts.set(backend.origin.origin, (counts.get(backend.origin.origin) ?? 0) + 1);
      if (sent.kind === "broken") {
        fail(`${what}: ${backend.origin.host} ${sent.how}`);
        if (response.headersSent) response.destroy();
        else response.writeHead(502).end();
      } else {
        statuses.set(sent.status, (statuses.get(sent.status) ?? 0) + 1);
        if (sent.status >= 500) fail(`${what}: ${backend.origin.host} answered ${sent.status}`);
      }
      return;
    }
    fail(`${what}: no process was ready`);
    response.writeHead(503, { "Retry-After": "1" }).end();
  }

  const server = http.createServer((request, response) => {
    pass(request, response).catch((error: Error) => {
      // The client is gone, as one that stops is.
      if (!request.destroyed && !response.destroyed)
        fail(`${request.method} ${request.url}: ${error.message}`);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const add = (origin: string) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
    backends.set(origin, { origin: new URL(origin), agent, isReady: false });
  };
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    add,
    async added(origin) {
      if (!backends.has(origin)) add(origin);
      while (backends.get(origin)?.isReady === false) await new Promise((later) => setTimeout(later, 20));
    },
    remove(origin) {
      backends.get(origin)?.agent.destroy();
      backends.delete(origin);
    },
    counts,
    statuses,
    failures,
    async close() {
      clearInterval(timer);
      for (const { agent } of backends.values()) agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Sent =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "refused" }
  | { readonly kind: "missing" }
  | { readonly kind: "broken"; readonly how: string };

function forward(
  { origin, agent }: Backend,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  mayBeElsewhere: boolean,
): Promise<Sent> {
  return new Promise((settle) => {
    const { connection: _, "transfer-encoding": __, ...headers } = request.headers;
    const sent = http.request(
      {
        host: origin.hostname,
        port: origin.port,
        method: request.method,
        path: request.url,
        agent,
        headers: {
          ...headers,
          "x-forwarded-for": request.socket.remoteAddress ?? "",
          ...(body.length > 0 ? { "content-length": body.length } : {}),
        },
      },
      (answer) => {
        if (mayBeElsewhere && answer.statusCode === 404) {
          answer.resume();
          settle({ kind: "missing" });
          return;
        }
        const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...kept } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, kept);
        answer.pipe(response);
        answer.on("end", () => settle({ kind: "answered", status: answer.statusCode ?? 0 }));
        answer.on("close", () => {
          if (!answer.complete)
            settle(
              response.destroyed
                ? { kind: "answered", status: 0 }
                : { kind: "broken", how: "broke its answer off" },
            );
        });
      },
    );
    response.on("close", () => {
      if (!response.writableFinished) sent.destroy();
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      if (response.destroyed) settle({ kind: "answered", status: 0 });
      else if (error.code === "ECONNREFUSED") settle({ kind: "refused" });
      else settle({ kind: "broken", how: `broke the connection: ${error.code ?? error.message}` });
    });
    sent.end(body);
  });
}
