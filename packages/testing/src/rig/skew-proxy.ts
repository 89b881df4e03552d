import http from "node:http";
import { buffer } from "node:stream/consumers";
import { endToEndHeaders, HttpForward } from "./http-forward.ts";

/** What an agent and a control plane of two versions say to each other. */
export type Skew = {
  /** Each object of an agent's request has fields that the control plane does not know. */
  readonly newerAgent?: boolean;
  /** Each object of an answer to an agent has fields that it does not know. */
  readonly newerApi?: boolean;
  /** Paths below /agent that the control plane does not have. */
  readonly missing?: readonly string[];
  /** Kinds of jobs that the agent does not declare. */
  readonly withoutKinds?: readonly string[];
};

export type SkewProxy = {
  readonly origin: string;
  /** Statuses that calls of agents were answered, by path: ids are left out. */
  readonly statuses: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Changes what the versions do not share. */
  set(skew: Skew): void;
  close(): Promise<void>;
};

const news = { from_the_future: { of: ["a", { later: "version" }], n: 1 }, "x-later": null };

/** Adds what the other side does not know to every object, however deep. */
function withNews(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNews);
  if (typeof value !== "object" || value === null) return value;
  return {
    ...Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withNews(each)])),
    ...news,
  };
}

/** Stands between agents and an API of this build, and makes one of them as if it were of another version. */
export async function startSkewProxy(apiOrigin: string, first: Skew): Promise<SkewProxy> {
  let skew = first;
  const forward = new HttpForward(apiOrigin);
  const statuses = new Map<string, Map<number, number>>();
  const server = http.createServer((request, response) => {
    const path = (request.url ?? "").replace(/^\/api\/v1/, "").split("?")[0] ?? "";
    const noted = (status: number) => {
      const name = path.replace(/\/job_[0-9a-z]+/, "/{id}");
      const counts = statuses.get(name) ?? new Map<number, number>();
      statuses.set(name, counts.set(status, (counts.get(status) ?? 0) + 1));
    };
    const work = async () => {
      const body = await buffer(request);
      if (skew.missing?.includes(path)) {
        noted(404);
        response.writeHead(404, { "Content-Type": "application/problem+json" }).end('{"code":"not_found"}');
        return;
      }
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const sent = changedRequest(body, path, skew);
      const answer = await forward.send(
        { method: request.method ?? "GET", path: request.url ?? "/", headers: request.headers, body: sent },
        gone.signal,
      );
      noted(answer.status);
      const isJson = answer.status === 200 && answer.body.length > 0;
      const changed =
        isJson && skew.newerApi
          ? Buffer.from(JSON.stringify(withNews(JSON.parse(answer.body.toString()))))
          : answer.body;
      response.writeHead(answer.status, endToEndHeaders({ ...answer, body: changed }).flat()).end(changed);
    };
    // The agent is gone, or the API: it sees a broken connection.
    work().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    statuses,
    set: (next) => (skew = next),
    async close() {
      forward.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function changedRequest(body: Buffer, path: string, { newerAgent, withoutKinds }: Skew): Buffer {
  if (body.length === 0) return body;
  let value: unknown = JSON.parse(body.toString());
  if (path === "/agent/jobs/claim") {
    const claim = value as { capabilities: string[] };
    const declared = claim.capabilities.filter((kind) => !withoutKinds?.includes(kind));
    // One of a later version can do more.
    value = {
      ...claim,
      capabilities: newerAgent && declared.length > 0 ? [...declared, "ServerTeleport"] : declared,
    };
  }
  return Buffer.from(JSON.stringify(newerAgent ? withNews(value) : value));
}
