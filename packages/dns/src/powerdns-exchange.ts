// One HTTP call of PowerDNS' API: deadline, size of the answer, and which answers mean that it cannot be used now.

import { DnsRefused, DnsUnavailable } from "./dns-provider.ts";

export interface PowerDnsSettings {
  /** Where the API listens, without a path: `http://127.0.0.1:8081`. */
  readonly url: string;
  /** Value of X-API-Key. */
  readonly apiKey: string;
  /** `localhost` unless a proxy in front of several servers names them. */
  readonly serverId?: string;
  /** For a whole call, its answer included. Default 30,000: a zone of 10,000 record sets takes about a second. */
  readonly deadlineMilliseconds?: number;
}

export interface PowerDnsCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the server, e.g. `/zones/example.com.`. */
  readonly path: string;
  readonly body?: unknown;
  /** Statuses that the caller handles, besides 2xx. */
  readonly expected?: readonly number[];
  readonly maxAnswerBytes?: number;
  /** The answer's text is dropped unread: it holds a secret that nobody here needs. */
  readonly dropAnswer?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface PowerDnsAnswer {
  readonly status: number;
  readonly text: string;
}

export type PowerDnsExchange = (call: PowerDnsCall) => Promise<PowerDnsAnswer>;

const DEFAULT_DEADLINE_MILLISECONDS = 30_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** PowerDNS' `webserver-max-bodysize` when it is not set; larger requests are answered by 400 without a reason. */
const DEFAULT_MAX_REQUEST_BYTES = 2 * 1024 * 1024;

/** @throws Error when the URL is not one of HTTP or the key cannot be a header's value */
export function openPowerDns(settings: PowerDnsSettings): PowerDnsExchange {
  const base = new URL(settings.url);
  if (base.protocol !== "http:" && base.protocol !== "https:")
    throw new Error("PowerDNS' URL must begin with http:// or https://");
  if (base.username !== "" || base.password !== "") throw new Error("PowerDNS' URL must not hold a password");
  // Checked here because fetch's own message about a bad header quotes its value.
  if (!/^[\x21-\x7e]{1,500}$/.test(settings.apiKey))
    throw new Error("PowerDNS' API key must be 1 to 500 printable ASCII characters without spaces");
  const server = `/api/v1/servers/${encodeURIComponent(settings.serverId ?? "localhost")}`;
  const deadlineMilliseconds = settings.deadlineMilliseconds ?? DEFAULT_DEADLINE_MILLISECONDS;

  return async (call) => {
    const label = `${call.method} ${call.path}`;
    const deadline = AbortSignal.timeout(deadlineMilliseconds);
    const body = call.body === undefined ? null : JSON.stringify(call.body);
    call.signal?.throwIfAborted();
    let response: Response;
    let text: string;
    try {
      response = await fetch(new URL(`${server}${call.path}`, base), {
        method: call.method,
        headers: {
          "X-API-Key": settings.apiKey,
          Accept: "application/json",
          ...(body === null ? {} : { "Content-Type": "application/json" }),
        },
        body,
        redirect: "manual",
        signal: call.signal === undefined ? deadline : AbortSignal.any([deadline, call.signal]),
      });
      text = await readBounded(response, label, call);
    } catch (error) {
      if (error instanceof DnsUnavailable) throw error;
      if (call.signal?.aborted) throw call.signal.reason;
      if (deadline.aborted)
        throw new DnsUnavailable("timeout", label, `no whole answer in ${deadlineMilliseconds} ms`);
      throw new DnsUnavailable("unreachable", label, `${causeOf(error)}${sizeHint(body)}`);
    }
    const { status } = response;
    if ((status >= 200 && status < 300) || call.expected?.includes(status)) {
      // A proxy's or another server's page says nothing about a zone; "absent" would be taken for a fact.
      if (status === 404 && response.headers.get("content-type")?.startsWith("text/html"))
        throw new DnsUnavailable("bad-answer", label, "404 with an HTML page, which is not PowerDNS' API");
      return { status, text };
    }
    if (status === 401 || status === 403)
      throw new DnsUnavailable(
        "unauthorized",
        label,
        `${status} ${messageOf(text)}: the API key is not accepted`,
      );
    if (status >= 500 || status === 429)
      throw new DnsUnavailable("server-error", label, `${status} ${messageOf(text)}`);
    if (status < 400)
      throw new DnsUnavailable("bad-answer", label, `${status}, which is not an answer of PowerDNS' API`);
    throw new DnsRefused(status, label, `${messageOf(text)}${status === 400 ? sizeHint(body) : ""}`);
  };
}

/** PowerDNS answers what is too large by 400, or closes the connection while it is being sent; neither says why. */
function sizeHint(body: string | null): string {
  const bytes = body === null ? 0 : Buffer.byteLength(body);
  if (bytes <= DEFAULT_MAX_REQUEST_BYTES) return "";
  return `: the request has ${bytes} bytes; set webserver-max-bodysize to more than ${Math.ceil(bytes / 1024 / 1024)} (MB)`;
}

/** PowerDNS' own text: `{"error": "…"}`, and plain text for the statuses that its web server answers by itself. */
function messageOf(text: string): string {
  try {
    const parsed: unknown = JSON.parse(text);
    if (
      parsed !== null &&
      typeof parsed === "object" &&
      "error" in parsed &&
      typeof parsed.error === "string"
    )
      return parsed.error;
  } catch {
    // Plain text.
  }
  return text;
}

async function readBounded(response: Response, label: string, call: PowerDnsCall): Promise<string> {
  const limit = call.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  // Only what went well holds the secret; an error's text is needed.
  const drop = call.dropAnswer === true && response.ok;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest of the answer.
    if (bytes > limit)
      throw new DnsUnavailable("bad-answer", label, `the answer is larger than ${limit} bytes`);
    if (!drop) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** fetch says only "fetch failed"; its cause has the code. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return cause instanceof Error ? cause.message : String(cause);
}
