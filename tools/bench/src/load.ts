import { Agent, request } from "node:http";
import { median, percentile } from "./statistics.ts";

export type Answer = { readonly status: number; readonly body: string };

/** Keep-alive connections, as many as there are clients, to one server or in turn to replicas of it. */
export class HttpClients {
  readonly #agent: Agent;
  readonly #bases: readonly string[];
  readonly #headers: Readonly<Record<string, string>>;
  #sent = 0;

  constructor(
    bases: string | readonly string[],
    clients: number,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: clients });
    this.#bases = [bases].flat();
    this.#headers = headers;
  }

  send(method: string, path: string, body?: unknown): Promise<Answer> {
    this.#sent += 1;
    const base = this.#bases[this.#sent % this.#bases.length];
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const call = request(
        `${base}${path}`,
        {
          method,
          agent: this.#agent,
          headers: {
            ...this.#headers,
            ...(payload === undefined
              ? {}
              : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
          );
          response.on("error", reject);
        },
      );
      call.on("error", reject);
      call.end(payload);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export type Measured = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly count: number;
};

/**
 * A closed loop: each of `clients` sends its next request when its last one is answered, for `seconds`. An
 * exception ends the measurement: an error is not a fast answer.
 */
export async function closedLoop(
  clients: number,
  seconds: number,
  act: (client: number) => Promise<void>,
): Promise<Measured> {
  const latencies: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (performance.now() < end) {
        const started = performance.now();
        await act(client);
        latencies.push(performance.now() - started);
      }
    }),
  );
  const elapsed = (performance.now() - begin) / 1000;
  return {
    perSecond: latencies.length / elapsed,
    p50Ms: median(latencies),
    p99Ms: percentile(latencies, 0.99),
    count: latencies.length,
  };
}

/** The same act one after the other, `count` times; its latencies in milliseconds. */
export async function oneByOne(count: number, act: (index: number) => Promise<void>): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const started = performance.now();
    await act(index);
    latencies.push(performance.now() - started);
  }
  return latencies;
}
