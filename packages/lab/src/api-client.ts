/** A small client without checks for the lab's own tests: one request, any answer. */
import { request } from "node:https";
import type { Lab } from "./lab.ts";

export interface RawAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly data: any;
  readonly message: string | undefined;
  readonly errors: Record<string, string> | undefined;
}

export interface RequestOptions {
  /** Sent as application/x-www-form-urlencoded. */
  readonly form?: Record<string, string | number>;
  /** Sent as application/json. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** "agent" (default), "operator", or a whole Authorization value. */
  readonly as?: string;
}

/** Calls `METHOD /path` below /api2/json. Rejects when the connection breaks. */
export async function call(lab: Lab, line: string, options: RequestOptions = {}): Promise<RawAnswer> {
  const [method = "GET", path = "/"] = line.split(/ (.*)/s);
  const tokens: Record<string, string> = {
    agent: `PVEAPIToken=${lab.tokenId}=${lab.tokenSecret}`,
    operator: `PVEAPIToken=${lab.operatorTokenId}=${lab.operatorTokenSecret}`,
  };
  const form =
    options.form === undefined ? undefined : new URLSearchParams(options.form as Record<string, string>);
  const body =
    options.body ??
    form?.toString() ??
    (options.json === undefined ? undefined : JSON.stringify(options.json));
  const headers: Record<string, string> = {
    authorization: tokens[options.as ?? "agent"] ?? options.as ?? "",
    ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
    ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
    ...(options.json === undefined ? {} : { "content-type": "application/json" }),
    ...options.headers,
  };
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      `${lab.url}/api2/json${path}`,
      { method, headers, rejectUnauthorized: false, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          let parsed: { data?: unknown; message?: string; errors?: Record<string, string> } = {};
          try {
            parsed = JSON.parse(text) as typeof parsed;
          } catch {
            // Not JSON: the text is all there is.
          }
          resolve({
            status: response.statusCode ?? 0,
            reason: response.statusMessage ?? "",
            headers: response.headers,
            text,
            data: parsed.data,
            message: parsed.message,
            errors: parsed.errors,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Waits for a task by polling as a client would; returns its exit status. */
export async function finished(lab: Lab, upid: string): Promise<string> {
  const node = upid.split(":")[1] ?? "";
  for (;;) {
    const answer = await call(lab, `GET /nodes/${node}/tasks/${encodeURIComponent(upid)}/status`, {
      as: "operator",
    });
    if (answer.data?.status === "stopped") return answer.data.exitstatus as string;
    if (answer.status !== 200) return `${answer.status} ${answer.reason}`;
  }
}

/** Makes a call that must answer with a UPID, and waits for its task. */
export async function run(lab: Lab, line: string, options: RequestOptions = {}): Promise<string> {
  const answer = await call(lab, line, options);
  if (answer.status !== 200 || typeof answer.data !== "string") {
    return `${answer.status} ${answer.reason} ${answer.text}`;
  }
  return await finished(lab, answer.data);
}
