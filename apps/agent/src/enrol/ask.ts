// One question to the control plane, before there are settings: over TLS that is checked as the caller says.

import { request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { agentRuntime, withinTime } from "../runtime.ts";

export type Trust =
  /** As every program of this machine does. */
  | { readonly kind: "usual" }
  /** This certificate authority alone. */
  | { readonly kind: "authority"; readonly certificate: string }
  /** Whoever answers: what they say is checked by itself. */
  | { readonly kind: "nobody yet" };

export type Reply = { readonly status: number; readonly body: unknown };

const TIMEOUT_MILLISECONDS = 15_000;
const MOST_BYTES = 65_536;

/** Rejects when nothing answers, when the certificate is not trusted, and for an answer that is not JSON. */
export function ask(url: URL, body: object | null, trust: Trust): Promise<Reply> {
  return withinTime(agentRuntime, TIMEOUT_MILLISECONDS, null, (signal) => send(url, body, trust, signal));
}

function send(url: URL, body: object | null, trust: Trust, signal: AbortSignal): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const text = body === null ? null : JSON.stringify(body);
  const options = {
    method: text === null ? "GET" : "POST",
    headers: { accept: "application/json", ...(text === null ? {} : { "content-type": "application/json" }) },
    signal,
    ...(trust.kind === "authority" ? { ca: trust.certificate } : {}),
    ...(trust.kind === "nobody yet" ? { rejectUnauthorized: false } : {}),
  };
  const sent = (url.protocol === "https:" ? tlsRequest : plainRequest)(url, options, (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MOST_BYTES) response.destroy(new Error("the answer is too long to be the control plane's"));
    });
    response.on("error", reject);
    response.on("end", () => {
      try {
        resolve({
          status: response.statusCode ?? 0,
          body: JSON.parse(Buffer.concat(chunks).toString()) as unknown,
        });
      } catch {
        reject(new Error(`the answer (HTTP ${response.statusCode}) is not the control plane's`));
      }
    });
  });
  sent.on("error", reject);
  sent.end(text ?? undefined);
  return promise;
}
