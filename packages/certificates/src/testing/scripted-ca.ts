// A CA whose answers a test decides. It checks no signatures: that is for a real one.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  /** Protected header and payload of a signed one; the payload of one that only reads is null. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: unknown;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object becomes JSON; a text goes as it is. */
  readonly body?: unknown;
}

export type Script =
  | ScriptedAnswer
  | ((asked: ScriptedRequest, response: ServerResponse) => ScriptedAnswer | undefined);

export interface ScriptedCa {
  readonly origin: string;
  readonly directoryUrl: string;
  readonly asked: readonly ScriptedRequest[];
  /** TCP connections so far. */
  connections(): number;
  /** What is answered at a path from now on; a function that returns nothing answers by itself. */
  on(path: string, script: Script): void;
  /** A problem document. */
  problem(type: string, detail: string, more?: object): unknown;
  close(): Promise<void>;
}

export async function startScriptedCa(): Promise<ScriptedCa> {
  const asked: ScriptedRequest[] = [];
  const scripts = new Map<string, Script>();
  let connections = 0;
  let nonces = 0;

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "/";
    const signed = await text(request);
    const question = { method: request.method ?? "", path, ...decode(signed) };
    asked.push(question);
    const script = scripts.get(path) ?? { status: 404 };
    const answer = typeof script === "function" ? script(question, response) : script;
    if (answer === undefined) return;
    const isText = typeof answer.body === "string";
    nonces += 1;
    response.writeHead(answer.status ?? 200, {
      "Replay-Nonce": `nonce${nonces}`,
      ...(answer.body === undefined ? {} : { "Content-Type": isText ? "text/html" : "application/json" }),
      ...answer.headers,
    });
    response.end(isText || answer.body === undefined ? answer.body : JSON.stringify(answer.body));
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const paths = ["newNonce", "newAccount", "newOrder", "revokeCert", "renewalInfo"];
  scripts.set("/dir", { body: Object.fromEntries(paths.map((path) => [path, `${origin}/${path}`])) });
  scripts.set("/newNonce", {});
  return {
    origin,
    directoryUrl: `${origin}/dir`,
    asked,
    connections: () => connections,
    on: (path, script) => void scripts.set(path, script),
    problem: (type, detail, more = {}) => ({ type: `urn:ietf:params:acme:error:${type}`, detail, ...more }),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function decode(signed: string): Pick<ScriptedRequest, "header" | "payload"> {
  if (signed === "") return { header: {}, payload: null };
  const parts = JSON.parse(signed) as { protected: string; payload: string };
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
  return { header: read(parts.protected), payload: parts.payload === "" ? null : read(parts.payload) };
}
