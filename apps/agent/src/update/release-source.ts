// Releases as the control plane serves them. It only passes them on: nothing here is believed before it is verified.

import { asEnvelope, type Envelope } from "@kule/agent-release/envelope";
import type { Architecture } from "@kule/agent-release/release";
import { createApiClient } from "@kule/contract/client";
import { type Answer, answerOf, describeFailure } from "../control-plane.ts";
import { type AgentRuntime, withinTime } from "../runtime.ts";
import { asKeyChain } from "./request.ts";

const CALL_MILLISECONDS = 20_000;

export type FilePart = {
  /** The place of its first byte in the file. */
  readonly start: number;
  readonly body: ReadableStream<Uint8Array>;
};

export type ReleaseSource = {
  keys(signal: AbortSignal): Promise<Answer<readonly Envelope[]>>;
  manifest(version: string, signal: AbortSignal): Promise<Answer<Envelope>>;
  /** The file from this byte on, or from its first one when the rest is not of the file with this sum. */
  file(
    version: string,
    architecture: Architecture,
    from: { readonly offset: number; readonly sha256: string },
    signal: AbortSignal,
  ): Promise<Answer<FilePart>>;
};

export function releasesOf(url: string, token: string, runtime: AgentRuntime): ReleaseSource {
  const client = createApiClient({ baseUrl: url, token, readRetries: 0, timeoutMs: 60_000 });
  type Sent<Data> = Parameters<typeof answerOf<Data>>[0];
  const ask = async <Data>(
    signal: AbortSignal,
    send: (limited: AbortSignal) => Promise<Sent<Data>>,
  ): Promise<Answer<Data>> => {
    try {
      return answerOf(await withinTime(runtime, CALL_MILLISECONDS, signal, send));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      return { kind: "away", message: describeFailure(error, CALL_MILLISECONDS), retryAfterSeconds: null };
    }
  };
  return {
    async keys(signal) {
      const answer = await ask<unknown>(signal, (limited) =>
        client.GET("/agent/release-keys", { signal: limited }),
      );
      if (answer.kind !== "ok") return answer;
      const chain = asKeyChain(answer.value);
      return chain === null ? notAnAnswer("the answer is no list of keys") : { ...answer, value: chain };
    },
    async manifest(version, signal) {
      const answer = await ask<{ manifest?: unknown }>(signal, (limited) =>
        client.GET("/agent/releases/{version}", { params: { path: { version } }, signal: limited }),
      );
      if (answer.kind !== "ok") return answer;
      const envelope = asEnvelope(answer.value.manifest);
      return "problem" in envelope
        ? notAnAnswer(`the answer is no manifest: ${envelope.problem}`)
        : { ...answer, value: envelope };
    },
    async file(version, architecture, { offset, sha256 }, signal) {
      let headers: Pick<Headers, "get"> = new Headers();
      let status = 0;
      const header = offset > 0 ? { Range: `bytes=${offset}-`, "If-Range": `"${sha256}"` } : {};
      const answer = await ask<ReadableStream<Uint8Array>>(signal, async (limited) => {
        const result = await client.GET("/agent/releases/{version}/files/{architecture}", {
          params: { path: { version, architecture }, header },
          parseAs: "stream",
          // The limit is for the answer to begin; what follows ends with the outer signal.
          signal: AbortSignal.any([limited, signal]),
        });
        ({ headers, status } = result.response);
        return result as Sent<ReadableStream<Uint8Array>>;
      });
      if (answer.kind !== "ok") return answer;
      const start = startOf(status, headers.get("content-range"));
      if (start === null || (start !== 0 && start !== offset)) {
        await answer.value.cancel().catch(() => {});
        return notAnAnswer("the answer is not the part of the file that was asked for");
      }
      return { ...answer, value: { start, body: answer.value } };
    },
  };
}

const notAnAnswer = (message: string) => ({ kind: "away", message, retryAfterSeconds: null }) as const;

function startOf(status: number, range: string | null): number | null {
  if (status === 200) return 0;
  const [, start] = /^bytes (\d{1,15})-\d/.exec(range ?? "") ?? [];
  return status === 206 && start !== undefined ? Number(start) : null;
}
