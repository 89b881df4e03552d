// The signed conversation with one CA (RFC 8555 6): nonces, errors, the directory. What can be asked is in the files beside this.

import { type AcmeDirectory, readDirectory } from "./acme-directory.ts";
import { AcmeGone, AcmeRefused, AcmeUnavailable } from "./acme-error.ts";
import { type CaAnswer, type CaTransportSettings, labelOf, openCaTransport } from "./ca-transport.ts";
import { type AcmeSigner, signRequest } from "./jws.ts";
import { readProblem } from "./read-problem.ts";
import { REFUSAL_LIMITS, retryAfter } from "./retry-after.ts";

export interface AcmeSettings extends CaTransportSettings {
  readonly directoryUrl: string;
  /** For one function's call, repetitions and the whole answer included. Default 30,000. */
  readonly deadlineMilliseconds?: number | undefined;
  readonly now?: (() => Date) | undefined;
}

export interface AcmeCall {
  readonly url: string;
  /** Null for a POST that only reads. */
  readonly payload: unknown;
  /** What is at the URL: its absence is then told from an outage. */
  readonly what?: AcmeGone["what"];
  readonly accept?: string;
  readonly maxAnswerBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * All functions throw AcmeUnavailable, AcmeRefused and AcmeGone; an aborted `signal` rejects with its reason. Nothing waits for
 * longer than a call and its answer take.
 */
export interface AcmeClient {
  /** Kept for an hour. */
  directory(signal?: AbortSignal): Promise<AcmeDirectory>;
  /** Signed; a refused nonce is replaced at once, at most three times. */
  post(signer: AcmeSigner, call: AcmeCall): Promise<CaAnswer>;
  /** Not signed. */
  get(url: string, signal?: AbortSignal): Promise<CaAnswer>;
  now(): Date;
  close(): void;
}

const DEFAULT_DEADLINE_MILLISECONDS = 30_000;
const MAX_ANSWER_BYTES = 128 * 1024;
const DIRECTORY_MILLISECONDS = 3_600_000;
const MAX_NONCE_REPETITIONS = 3;
const MAX_NONCES = 8;
const NONCE = /^[A-Za-z0-9_-]{1,512}$/;

export function openAcmeClient(settings: AcmeSettings): AcmeClient {
  const transport = openCaTransport(settings);
  const now = settings.now ?? (() => new Date());
  const deadlineMilliseconds = settings.deadlineMilliseconds ?? DEFAULT_DEADLINE_MILLISECONDS;
  const nonces: string[] = [];
  let directory: { readonly value: AcmeDirectory; readonly until: number } | undefined;

  /** Runs something under the time limit. */
  const limited = async <T>(
    label: string,
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ) => {
    signal?.throwIfAborted();
    const deadline = AbortSignal.timeout(deadlineMilliseconds);
    try {
      return await run(signal === undefined ? deadline : AbortSignal.any([deadline, signal]));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (deadline.aborted)
        throw new AcmeUnavailable("timeout", label, `no whole answer in ${deadlineMilliseconds} ms`);
      throw error;
    }
  };

  const readWithin = async (signal: AbortSignal): Promise<AcmeDirectory> => {
    if (directory !== undefined && now().getTime() < directory.until) return directory.value;
    const url = settings.directoryUrl;
    const answer = await transport.send({ method: "GET", url, maxAnswerBytes: MAX_ANSWER_BYTES, signal });
    if (answer.status !== 200) throw failureOf(answer, labelOf("GET", new URL(url)), undefined, now());
    const value = readDirectory(answer.text);
    directory = { value, until: now().getTime() + DIRECTORY_MILLISECONDS };
    return value;
  };

  const takeNonce = async (signal: AbortSignal): Promise<string> => {
    const kept = nonces.pop();
    if (kept !== undefined) return kept;
    const { newNonce } = await readWithin(signal);
    const answer = await transport.send({
      method: "HEAD",
      url: newNonce,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal,
    });
    keepNonce(answer);
    const nonce = nonces.pop();
    if (nonce !== undefined) return nonce;
    // The directory of a CA that was set up anew may be another one.
    directory = undefined;
    throw failureOf(answer, labelOf("HEAD", new URL(newNonce)), undefined, now());
  };

  const keepNonce = (answer: CaAnswer): void => {
    const nonce = answer.header("replay-nonce");
    if (nonce !== undefined && NONCE.test(nonce) && nonces.length < MAX_NONCES) nonces.push(nonce);
  };

  const postWithin = async (
    signer: AcmeSigner,
    call: AcmeCall,
    label: string,
    signal: AbortSignal,
  ): Promise<CaAnswer> => {
    for (let repetitions = 0; ; repetitions += 1) {
      const nonce = await takeNonce(signal);
      const answer = await transport.send({
        method: "POST",
        url: call.url,
        body: signRequest(signer, { url: call.url, nonce, payload: call.payload }),
        maxAnswerBytes: call.maxAnswerBytes ?? MAX_ANSWER_BYTES,
        ...(call.accept === undefined ? {} : { accept: call.accept }),
        signal,
      });
      const failure =
        answer.status >= 200 && answer.status < 300 ? null : failureOf(answer, label, call.what, now());
      const badNonce = failure instanceof AcmeRefused && failure.problem.type === "badNonce";
      keepNonce(answer);
      if (failure === null) return answer;
      if (!badNonce || repetitions >= MAX_NONCE_REPETITIONS) throw failure;
    }
  };

  return {
    directory: (signal) => limited("the directory", signal, readWithin),
    post: async (signer, call) => {
      const label = labelOfText("POST", call.url);
      return limited(label, call.signal, (signal) => postWithin(signer, call, label, signal));
    },
    get: async (url, signal) => {
      const label = labelOfText("GET", url);
      return limited(label, signal, async (within) => {
        const answer = await transport.send({
          method: "GET",
          url,
          maxAnswerBytes: MAX_ANSWER_BYTES,
          signal: within,
        });
        if (answer.status === 200) return answer;
        throw failureOf(answer, label, undefined, now());
      });
    },
    now,
    close: () => transport.close(),
  };
}

function labelOfText(method: string, text: string): string {
  const url = URL.parse(text);
  return url === null ? `${method} a URL that is none` : labelOf(method, url);
}

/** What an answer other than 2xx means. */
function failureOf(
  answer: CaAnswer,
  label: string,
  what: AcmeGone["what"] | undefined,
  now: Date,
): AcmeUnavailable | AcmeRefused | AcmeGone {
  const { status } = answer;
  const retryAt = retryAfter(answer.header("retry-after"), now, REFUSAL_LIMITS);
  const contentType = answer.header("content-type") ?? "";
  const problem = contentType.includes("json") ? readProblem(parseJson(answer.text)) : null;
  if (problem?.type === "accountDoesNotExist") return new AcmeGone("account", label);
  // The page of a proxy that cannot reach the CA says nothing about an order.
  if (what !== undefined && (status === 404 || status === 410) && !contentType.includes("html"))
    return new AcmeGone(what, label);
  if (status >= 500)
    return new AcmeUnavailable("server-error", label, `${status} ${problem?.detail ?? ""}`, retryAt);
  if (problem !== null) return new AcmeRefused(problem, label, status, retryAt);
  if (status === 429) return new AcmeUnavailable("server-error", label, "429 without a reason", retryAt);
  return new AcmeUnavailable(
    "bad-answer",
    label,
    `${status} with ${contentType || "no type"}, which is not ACME`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
