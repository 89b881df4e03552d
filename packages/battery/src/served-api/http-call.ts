import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";

export type CallAnswer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly ms: number;
};

export type Call = {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A client with an address of its own (127.0.0.0/8 has many) and kept connections. */
export class HttpCaller {
  readonly #agent: Agent;

  constructor(localAddress = "127.0.0.1", maxSockets = 16) {
    this.#agent = new Agent({ keepAlive: true, maxSockets, localAddress });
  }

  /** @throws Error when the connection breaks before there is an answer */
  call(url: string, { method = "GET", token, body, headers = {} }: Call = {}): Promise<CallAnswer> {
    const startedAt = performance.now();
    const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method,
          agent: this.#agent,
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(payload === undefined
              ? {}
              : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
            ...headers,
          },
        },
        (answer) => {
          text(answer).then(
            (read) =>
              resolve({
                status: answer.statusCode ?? 0,
                headers: answer.headers,
                text: read,
                ms: performance.now() - startedAt,
              }),
            reject,
          );
        },
      );
      sent.on("error", reject);
      sent.end(payload);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** `count` calls, so many at a time; what `make` throws ends it. */
export async function inLanes<Result>(
  count: number,
  lanes: number,
  make: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await make(index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
