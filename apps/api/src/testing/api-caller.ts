import type { Hono } from "hono";

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; null without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
};

type HeaderList = Readonly<Record<string, string>>;

/** Calls an API in this process with one token. Paths are relative to the versioned root. */
export class ApiCaller {
  readonly app: Pick<Hono, "request">;
  readonly token: string | null;
  /** Sent with every call. */
  readonly headers: HeaderList;

  constructor(app: Pick<Hono, "request">, token: string | null, headers: HeaderList = {}) {
    this.app = app;
    this.token = token;
    this.headers = headers;
  }

  /** The same caller with more headers, such as Kule-Organisation. */
  with(headers: HeaderList): ApiCaller {
    return new ApiCaller(this.app, this.token, { ...this.headers, ...headers });
  }

  /** The same token at another replica. */
  at(app: Pick<Hono, "request">): ApiCaller {
    return new ApiCaller(app, this.token, this.headers);
  }

  get(path: string, headers: HeaderList = {}): Promise<Answer> {
    return this.send("GET", path, undefined, headers);
  }

  post(path: string, body?: unknown, headers: HeaderList = {}): Promise<Answer> {
    return this.send("POST", path, body, headers);
  }

  patch(path: string, body: unknown, headers: HeaderList = {}): Promise<Answer> {
    return this.send("PATCH", path, body, headers);
  }

  put(path: string, body: unknown, headers: HeaderList = {}): Promise<Answer> {
    return this.send("PUT", path, body, headers);
  }

  delete(path: string, headers: HeaderList = {}): Promise<Answer> {
    return this.send("DELETE", path, undefined, headers);
  }

  /** @param body sent as it is when it is text or bytes, otherwise as JSON */
  async send(method: string, path: string, body?: unknown, headers: HeaderList = {}): Promise<Answer> {
    const isRaw = typeof body === "string" || body instanceof Uint8Array;
    const response = await this.app.request(`/api/v1${path}`, {
      method,
      headers: {
        ...(this.token === null ? {} : { Authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...this.headers,
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? null : isJson(response) ? JSON.parse(text) : text,
    };
  }
}

const isJson = (response: Response) =>
  /^application\/(problem\+)?json\b/.test(response.headers.get("Content-Type") ?? "");
