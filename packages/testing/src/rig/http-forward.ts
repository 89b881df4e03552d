import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import { buffer } from "node:stream/consumers";

/** A request with its whole body, so that it can be sent more than once. */
export type HttpCall = {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

/** An answer with its whole body. */
export type HttpAnswer = {
  readonly status: number;
  readonly reason: string;
  /** Pairs, as they were received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
};

/** Of one connection, not of the message (RFC 9110, 7.6.1); lengths are computed again. */
const hopHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "upgrade"]);

/** Sends calls to one origin, over kept connections by default. */
export class HttpForward {
  readonly #origin: URL;
  readonly #agent: http.Agent | https.Agent;

  constructor(origin: string, { keepAlive = true }: { readonly keepAlive?: boolean } = {}) {
    this.#origin = new URL(origin);
    this.#agent =
      this.#origin.protocol === "https:"
        ? // On loopback, and to a lab with a self-signed certificate.
          new https.Agent({ keepAlive, rejectUnauthorized: false })
        : new http.Agent({ keepAlive });
  }

  /** @throws Error when there is no whole answer */
  async send({ method, path, headers, body }: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
    const { protocol, hostname, port } = this.#origin;
    const kept = Object.entries(headers).filter(([name]) => !hopHeaders.has(name));
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = (protocol === "https:" ? https : http).request(
      {
        hostname,
        port,
        method,
        path,
        agent: this.#agent,
        signal,
        headers: {
          ...Object.fromEntries(kept),
          ...(body.length > 0 || headers["content-length"] !== undefined
            ? { "content-length": String(body.length) }
            : {}),
        },
      },
      resolve,
    );
    request.on("error", reject);
    request.end(body);
    const response = await promise;
    return {
      status: response.statusCode ?? 0,
      reason: response.statusMessage ?? "",
      rawHeaders: response.rawHeaders,
      body: await buffer(response),
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The answer's headers for another connection. */
export function endToEndHeaders({ rawHeaders, body }: HttpAnswer): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (!hopHeaders.has(name.toLowerCase())) pairs.push([name, value]);
  }
  return [...pairs, ["Content-Length", String(body.length)]];
}
