import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";

/** One call as the API got it. */
export interface ProxiedCall {
  readonly method: string;
  readonly path: string;
  readonly requestBytes: number;
  readonly answer: string;
}

/**
 * `hang`: nothing is passed on and nothing answered. `cut`: the connection ends before anything is passed on. `lost-reply`:
 * the call is done, and its answer thrown away. A number is answered as the status, without the API hearing of the call.
 */
export type ProxyFault = "hang" | "cut" | "lost-reply" | number;

export interface ApiProxy {
  readonly url: string;
  readonly calls: ProxiedCall[];
  /** For the next call with this method. */
  fail(method: string, fault: ProxyFault, answer?: { headers?: Record<string, string>; body?: string }): void;
  /** Faults that no call has met yet. */
  pendingFaults(): number;
  close(): Promise<void>;
}

/** Stands between the driver and an API, counts what passes, and puts faults in between. */
export async function startApiProxy(target: string): Promise<ApiProxy> {
  const calls: ProxiedCall[] = [];
  const faults: { method: string; fault: ProxyFault; headers: Record<string, string>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const { method = "", url: path = "" } = request;
    const index = faults.findIndex((each) => each.method === method);
    const [found] = index < 0 ? [] : faults.splice(index, 1);
    if (found?.fault === "hang") return;
    if (found?.fault === "cut") return void request.socket.destroy();
    if (typeof found?.fault === "number")
      return void response.writeHead(found.fault, found.headers).end(found.body);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const onward = httpRequest(
      new URL(path, target),
      { method, headers: request.headers, agent: false },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("end", () => {
          const whole = Buffer.concat(parts);
          calls.push({ method, path, requestBytes: body.length, answer: whole.toString("utf8") });
          if (found?.fault === "lost-reply") return void request.socket.destroy();
          const type = answer.headers["content-type"];
          response
            .writeHead(answer.statusCode ?? 500, type === undefined ? {} : { "content-type": type })
            .end(whole);
        });
      },
    );
    onward.on("error", () => request.socket.destroy());
    onward.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    fail: (method, fault, { headers = {}, body = "" } = {}) =>
      void faults.push({ method, fault, headers, body }),
    pendingFaults: () => faults.length,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
