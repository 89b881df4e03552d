// One HTTP call to a CA. By node:https and not by fetch: fetch takes neither roots of its own nor a check of the address that a
// name resolves to, without which a CA's URLs could lead into the operator's own networks.

import { type LookupAddress, lookup } from "node:dns";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "@kule/dns/public-address";
import { AcmeUnavailable } from "./acme-error.ts";

export interface CaTransportSettings {
  /** `public`: only addresses of the Internet are connected to. `any` for a CA of the operator's own. */
  readonly network: "public" | "any";
  /** PEM of the roots that the CA's own HTTPS server is trusted by; those of Node when absent. */
  readonly rootsPem?: string | undefined;
  /** For tests only: `http:` is taken too. */
  readonly allowHttp?: boolean | undefined;
}

export interface CaCall {
  readonly method: "GET" | "HEAD" | "POST";
  readonly url: string;
  readonly body?: string;
  readonly accept?: string;
  readonly maxAnswerBytes: number;
  /** Ends the call, and with it the wait for its answer. */
  readonly signal: AbortSignal;
}

export interface CaAnswer {
  readonly status: number;
  /** The name in lower case. */
  header(name: string): string | undefined;
  readonly text: string;
}

export interface CaTransport {
  /** Redirects are not followed. @throws AcmeUnavailable, or the reason of the aborted signal */
  send(call: CaCall): Promise<CaAnswer>;
  close(): void;
}

const MAX_URL_CHARACTERS = 2_048;
const MAX_CONNECTIONS = 4;
const NOT_PUBLIC = "KULE_NOT_PUBLIC";
const USER_AGENT = "kule (ACME client)";

export function openCaTransport(settings: CaTransportSettings): CaTransport {
  const options = {
    keepAlive: true,
    maxSockets: MAX_CONNECTIONS,
    ...(settings.network === "public" ? { lookup: publicLookup } : {}),
  };
  const agents = {
    https: new HttpsAgent({
      ...options,
      ...(settings.rootsPem === undefined ? {} : { ca: settings.rootsPem }),
    }),
    http: new HttpAgent(options),
  };
  return {
    send: async (call) => {
      const url = usableUrl(call.url, settings);
      const label = labelOf(call.method, url);
      try {
        return await exchange(call, url, label, agents);
      } catch (error) {
        if (error instanceof AcmeUnavailable) throw error;
        call.signal.throwIfAborted();
        // The CA closed the kept connection while this call was on its way; all calls may be repeated.
        if (error instanceof BrokenConnection && error.reused)
          return exchange(call, url, label, agents).catch((again) =>
            Promise.reject(asError(again, call, label)),
          );
        throw asError(error, call, label);
      }
    },
    close: () => {
      agents.https.destroy();
      agents.http.destroy();
    },
  };
}

class BrokenConnection extends Error {
  readonly reused: boolean;
  constructor(cause: Error, reused: boolean) {
    super(cause.message, { cause });
    this.reused = reused;
  }
}

/** @throws AcmeUnavailable for a URL that must not be asked */
function usableUrl(text: string, settings: CaTransportSettings): URL {
  const refuse = (why: string) => new AcmeUnavailable("address-refused", "the URL of a CA", why);
  if (text.length > MAX_URL_CHARACTERS) throw refuse(`it is longer than ${MAX_URL_CHARACTERS} characters`);
  const url = URL.parse(text);
  if (url === null) throw refuse("it is no URL");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && settings.allowHttp === true))
    throw refuse("it does not begin with https://");
  if (url.username !== "" || url.password !== "") throw refuse("it holds a password");
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  if (settings.network === "public" && isIP(host) !== 0 && !isPublicAddress(host))
    throw refuse(`${host} is not an address of the Internet`);
  return url;
}

/** As the system resolves names, without the addresses that are not of the Internet. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error !== null) return callback(error, "");
    const allowed = found.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined)
      return callback(
        Object.assign(new Error(`${hostname} has no address of the Internet`), { code: NOT_PUBLIC }),
        "",
      );
    if (options.all === true) return callback(null, allowed);
    callback(null, first.address, first.family);
  });
};

function exchange(
  call: CaCall,
  url: URL,
  label: string,
  agents: { readonly https: HttpsAgent; readonly http: HttpAgent },
): Promise<CaAnswer> {
  return new Promise((resolve, reject) => {
    const options = {
      method: call.method,
      signal: call.signal,
      headers: {
        "User-Agent": USER_AGENT,
        Accept: call.accept ?? "application/json",
        ...(call.body === undefined
          ? {}
          : { "Content-Type": "application/jose+json", "Content-Length": Buffer.byteLength(call.body) }),
      },
    };
    const request =
      url.protocol === "https:"
        ? httpsRequest(url, { ...options, agent: agents.https })
        : httpRequest(url, { ...options, agent: agents.http });
    let answered = false;
    request.on("error", (error) => reject(new BrokenConnection(error, request.reusedSocket && !answered)));
    request.on("response", (response) => {
      answered = true;
      readBounded(response, call.maxAnswerBytes, label).then((text) => {
        resolve({
          status: response.statusCode ?? 0,
          header: (name) => {
            const value = response.headers[name];
            return typeof value === "string" ? value : value?.[0];
          },
          text,
        });
      }, reject);
    });
    request.end(call.body);
  });
}

async function readBounded(response: IncomingMessage, limit: number, label: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    // Leaving the loop closes the connection with the rest unread.
    if (bytes > limit)
      throw new AcmeUnavailable("bad-answer", label, `the answer is larger than ${limit} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function asError(error: unknown, call: CaCall, label: string): unknown {
  if (error instanceof AcmeUnavailable) return error;
  if (call.signal.aborted) return call.signal.reason;
  const cause = error instanceof BrokenConnection ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const text =
    cause instanceof AggregateError ? causeOf(cause) : cause instanceof Error ? cause.message : String(cause);
  return new AcmeUnavailable(code === NOT_PUBLIC ? "address-refused" : "unreachable", label, text);
}

function causeOf({ errors }: AggregateError): string {
  return errors[0] instanceof Error ? errors[0].message : "no address can be reached";
}

/** Without the query. CAs put random tokens into paths, which are not secret: each call is signed. */
export function labelOf(method: string, url: URL): string {
  return `${method} ${url.origin}${url.pathname}`.slice(0, 300);
}
