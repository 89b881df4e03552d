// A small HTTPS server whose answers a test decides, and which records its requests.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { serverIdentity } from "@kule/lab/certificate";

export type ScriptedRequest = {
  readonly method: string;
  readonly path: string;
  readonly form: URLSearchParams;
  readonly body: string;
  readonly authorization: string;
};
/** `cut` closes the connection instead of answering, after the request has been read. */
export type ScriptedResponse =
  | { readonly data: unknown }
  | { readonly status: number; readonly reason?: string; readonly body?: unknown; readonly text?: string }
  | "cut"
  | "silence";

export type ScriptedServer = {
  readonly url: string;
  readonly fingerprint256: string;
  readonly certificatePem: string;
  readonly asked: ScriptedRequest[];
  /** TCP connections, whatever became of their handshake. */
  attempts(): number;
  /** Connections that finished their handshake. */
  connections(): number;
  /** How many bytes of requests were received in total. */
  bytesReceived(): number;
  stop(): Promise<void>;
};

export async function startScriptedServer(
  answer: (asked: ScriptedRequest) => ScriptedResponse | Promise<ScriptedResponse>,
): Promise<ScriptedServer> {
  const directory = mkdtempSync(join(tmpdir(), "kule-scripted-"));
  const identity = serverIdentity(directory, ["localhost", "127.0.0.1"], new Date());
  const asked: ScriptedRequest[] = [];
  const sockets = new Set<TLSSocket>();
  let attempts = 0;
  let connections = 0;
  let bytes = 0;
  const server: Server = createServer(
    { key: identity.keyPem, cert: identity.certificatePem },
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const url = new URL(request.url ?? "/", "https://localhost");
      const body = Buffer.concat(chunks).toString("utf8");
      const question: ScriptedRequest = {
        method: request.method ?? "",
        path: url.pathname.replace("/api2/json", ""),
        form: new URLSearchParams(request.method === "POST" || request.method === "PUT" ? body : url.search),
        body,
        authorization: request.headers.authorization ?? "",
      };
      asked.push(question);
      const told = await answer(question);
      if (told === "silence") return;
      if (told === "cut") {
        request.socket.destroy();
        return;
      }
      if ("data" in told) response.end(JSON.stringify({ data: told.data }));
      else {
        response.writeHead(told.status, told.reason ?? "");
        response.end(told.text ?? JSON.stringify(told.body ?? { data: null }));
      }
    },
  );
  server.on("connection", () => {
    attempts += 1;
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fingerprint256: identity.fingerprint256,
    certificatePem: identity.certificatePem,
    asked,
    attempts: () => attempts,
    connections: () => connections,
    bytesReceived: () => bytes,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
