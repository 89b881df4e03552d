// The Proxmox VE API over HTTPS with an API token. Reads may go to another endpoint when one is silent; a
// changing call is sent once, on a connection of its own, and when its answer is lost it is not repeated
// here.

import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { encodeCall } from "./driver-calls/encode-call.ts";
import {
  errorOfAnswer,
  type ProxmoxError,
  ProxmoxNodeUnreachable,
  ProxmoxReadOnly,
  ProxmoxUnknownOutcome,
  ProxmoxUntrusted,
} from "./errors.ts";
import type { CallName, ProxmoxCalls } from "./generated/api.ts";
import { type HttpAnswer, httpsTransport, NoAnswer, type Transport } from "./http-exchange.ts";
import { redactParameters, redactText, secretsIn } from "./redaction.ts";
import { systemRuntime, type Timers } from "./runtime.ts";
import { isCertificateError, type TlsTrust } from "./trusted-agent.ts";
import { trustedWebSocket, WebSocketRefused } from "./web-socket.ts";
import { parseJson, textOfFailure } from "./wire-format.ts";

export type { CallName } from "./generated/api.ts";
export type ParametersOf<Call extends CallName> = ProxmoxCalls[Call]["parameters"];
export type AnswerOf<Call extends CallName> = ProxmoxCalls[Call]["answer"];

export type CallRecord = {
  readonly call: string;
  readonly endpoint: string;
  /** HTTP status, or null without an answer. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** Secrets masked. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly error: string | null;
};

export type ProxmoxClientOptions = {
  /** "https://pve1.example:8006", at least one. */
  readonly endpoints: readonly string[];
  /** "user@realm!name" */
  readonly tokenId: string;
  readonly tokenSecret: string;
  readonly tls: TlsTrust;
  readonly onCall?: (record: CallRecord) => void;
  /** The machine's when left out. */
  readonly timers?: Timers;
  /** Another transport to the endpoints than HTTPS; `tls` is not used then. */
  readonly transport?: Transport;
  /** Calls that change something are refused before they are sent. */
  readonly readOnly?: boolean;
};

export type CallOptions = {
  readonly deadlineMilliseconds?: number;
  readonly signal?: AbortSignal | undefined;
  /** Awaited when the answer has arrived and before it is read; what it throws ends the call. */
  readonly answered?: (() => Promise<void>) | undefined;
  /** Called with the endpoint that answered: a console's websocket has to go to the same one. */
  readonly answeredBy?: ((endpoint: URL) => void) | undefined;
};

const TOKEN_ID = /^[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+![A-Za-z][A-Za-z0-9._-]+$/;
/**
 * pveproxy itself times out after 30 s and answers that; waiting a little longer gets its error instead of
 * ours.
 */
const CALL_DEADLINE_MILLISECONDS = 35_000;
/** pvedaemon has three workers a node; the third stays free for operators. */
const CHANGING_CALLS_PER_NODE = 2;

export class ProxmoxClient {
  readonly tokenId: string;
  readonly #options: ProxmoxClientOptions;
  readonly #endpoints: readonly URL[];
  readonly #transport: Transport;
  readonly #timers: Timers;
  readonly #limit = new ConcurrencyLimit(CHANGING_CALLS_PER_NODE);
  /** The endpoint that answered last; the others are tried only when it does not. */
  #preferred = 0;

  /** Throws a TypeError for a malformed endpoint, token id or trust. */
  constructor(options: ProxmoxClientOptions) {
    if (!TOKEN_ID.test(options.tokenId)) throw new TypeError("the token id must look like user@realm!name");
    if (!/^[\x21-\x3a\x3c-\x7e]+$/.test(options.tokenSecret))
      throw new TypeError("the token secret is empty or malformed");
    if (options.endpoints.length === 0) throw new TypeError("at least one endpoint is needed");
    this.#options = options;
    this.tokenId = options.tokenId;
    this.#endpoints = options.endpoints.map((endpoint) => {
      const url = new URL(endpoint);
      if (url.protocol !== "https:") throw new TypeError(`${endpoint} is not https`);
      return url;
    });
    this.#timers = options.timers ?? systemRuntime;
    this.#transport = options.transport ?? httpsTransport(options.tls, this.#timers);
  }

  /** Ends idle connections. Calls still under way are not waited for. */
  close(): void {
    this.#transport.close();
  }

  /**
   * One API call. `parameters` contains path, query and form parameters together, as the schema does. Throws
   * a TypeError for a call or parameter that is not in the table of the driver's calls, else a ProxmoxError;
   * its `outcome` says whether the call may have taken effect.
   */
  async call<Call extends CallName>(
    call: Call,
    parameters: ParametersOf<Call>,
    options: CallOptions = {},
  ): Promise<AnswerOf<Call>> {
    const sent = parameters as Record<string, unknown>;
    const { method, path, form } = encodeCall(call, sent);
    if (this.#options.readOnly === true && method !== "GET")
      throw new ProxmoxReadOnly({
        call: `${method} ${path}`,
        status: null,
        text: "not sent: nothing may be changed now",
        outcome: "permanent",
        fix: null,
      });
    const node = String(sent.node ?? "");
    const request = {
      method,
      path,
      form,
      label: `${method} ${path}`,
      parameters: sent,
    };
    const answer =
      method === "GET"
        ? await this.#read(request, options)
        : await this.#limit.run(node, () => this.#change(request, options));
    return this.#dataOf(answer, request) as AnswerOf<Call>;
  }

  /** A websocket to an endpoint, with the token and the trust of every call. Throws a ProxmoxError. */
  async webSocket(
    endpoint: URL,
    path: string,
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ) {
    const url = new URL(`/api2/json${path}`, endpoint);
    url.search = new URLSearchParams(query).toString();
    const authorization = `PVEAPIToken=${this.#options.tokenId}=${this.#options.tokenSecret}`;
    try {
      return await trustedWebSocket({
        url,
        authorization,
        tls: this.#options.tls,
        timers: this.#timers,
        signal,
      });
    } catch (error) {
      const status = error instanceof WebSocketRefused ? error.status : null;
      const said = error instanceof Error ? error.message : String(error);
      const text = redactText(said, [this.#options.tokenSecret, ...Object.values(query)]);
      const facts = { call: `GET ${path}`, status, text, outcome: "retryable", fix: null } as const;
      if (isCertificateError(error)) throw new ProxmoxUntrusted(facts, { cause: error });
      throw new ProxmoxNodeUnreachable(facts);
    }
  }

  async #read(request: PreparedCall, options: CallOptions): Promise<HttpAnswer> {
    let last: NoAnswer | null = null;
    for (let attempt = 0; attempt < this.#endpoints.length; attempt++) {
      const index = (this.#preferred + attempt) % this.#endpoints.length;
      try {
        let answer: HttpAnswer;
        try {
          answer = await this.#send(index, request, options, false);
        } catch (error) {
          // A kept connection may have been closed by the server just then; the endpoint gets a fresh one.
          if (!(error instanceof NoAnswer) || !error.reusedConnection || options.signal?.aborted) throw error;
          answer = await this.#send(index, request, options, true);
        }
        this.#preferred = index;
        return answer;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        if (options.signal?.aborted) throw options.signal.reason;
        last = error;
      }
    }
    throw this.#noAnswer(last, request, false);
  }

  /** Another endpoint is tried only while nothing has been sent: connection refused, certificate not trusted. */
  async #change(request: PreparedCall, options: CallOptions): Promise<HttpAnswer> {
    let last: NoAnswer | null = null;
    for (let attempt = 0; attempt < this.#endpoints.length; attempt++) {
      const index = (this.#preferred + attempt) % this.#endpoints.length;
      try {
        return await this.#send(index, request, options, true);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        last = error;
        if (error.sent || options.signal?.aborted) break;
      }
    }
    throw this.#noAnswer(last, request, true);
  }

  async #send(
    index: number,
    request: PreparedCall,
    options: CallOptions,
    alone: boolean,
  ): Promise<HttpAnswer> {
    const endpoint = this.#endpoints[index] ?? new URL("https://invalid");
    const url = new URL(`/api2/json${request.path}`, endpoint);
    const inQuery = request.method === "GET" || request.method === "DELETE";
    if (inQuery) url.search = request.form;
    const body = inQuery ? null : request.form;
    const headers: Record<string, string> = {
      authorization: `PVEAPIToken=${this.#options.tokenId}=${this.#options.tokenSecret}`,
      accept: "application/json",
    };
    if (body !== null) {
      headers["content-type"] = "application/x-www-form-urlencoded";
      headers["content-length"] = String(Buffer.byteLength(body));
    }
    const startedAt = this.#timers.monotonic();
    const record = (status: number | null, error: string | null) =>
      this.#options.onCall?.({
        call: request.label,
        endpoint: endpoint.host,
        status,
        milliseconds: this.#timers.monotonic() - startedAt,
        parameters: redactParameters(request.parameters),
        error,
      });
    try {
      const answer = await this.#transport.exchange({
        alone,
        method: request.method,
        url,
        headers,
        body,
        deadlineMilliseconds: options.deadlineMilliseconds ?? CALL_DEADLINE_MILLISECONDS,
        signal: options.signal,
        answered: options.answered,
      });
      options.answeredBy?.(endpoint);
      record(answer.status, answer.status >= 400 ? this.#clean(answer.reason, request) : null);
      return answer;
    } catch (error) {
      record(null, this.#clean(error instanceof Error ? error.message : String(error), request));
      throw error;
    }
  }

  #dataOf(answer: HttpAnswer, request: PreparedCall): unknown {
    const write = request.method !== "GET";
    if (answer.status >= 200 && answer.status < 300) {
      const parsed = parseJson(answer.body);
      if (parsed !== null && typeof parsed === "object" && "data" in parsed) return parsed.data;
      // Success without our kind of body: a captive portal, a wrong port, a broken proxy.
      const Lost = write ? ProxmoxUnknownOutcome : ProxmoxNodeUnreachable;
      throw new Lost({
        call: request.label,
        status: answer.status,
        text: "the answer is not one of the Proxmox VE API",
        outcome: write ? "unknown" : "retryable",
        fix: "Check that the endpoint is pveproxy (port 8006) and that no proxy on the way rewrites answers.",
      });
    }
    throw errorOfAnswer({
      call: request.label,
      status: answer.status,
      text: this.#clean(textOfFailure(answer), request),
      write,
    });
  }

  #noAnswer(last: NoAnswer | null, request: PreparedCall, write: boolean): ProxmoxError {
    const cause = last?.cause;
    const text = this.#clean(last?.message ?? "no endpoint answered", request);
    const facts = { call: request.label, status: null, text };
    if (isCertificateError(cause))
      return new ProxmoxUntrusted(
        {
          ...facts,
          outcome: "retryable",
          fix: "Compare the fingerprint on the node (pvenode cert info), then correct hypervisor.tls.",
        },
        { cause },
      );
    if (write && last?.sent)
      return new ProxmoxUnknownOutcome({ ...facts, outcome: "unknown", fix: null }, { cause });
    return new ProxmoxNodeUnreachable(
      { ...facts, outcome: "retryable", fix: "No endpoint of the region answers." },
      { cause },
    );
  }

  #clean(text: string, request: PreparedCall): string {
    return redactText(text, [this.#options.tokenSecret, ...secretsIn(request.parameters)]);
  }
}

type PreparedCall = {
  readonly method: string;
  readonly path: string;
  readonly form: string;
  readonly label: string;
  readonly parameters: Record<string, unknown>;
};
