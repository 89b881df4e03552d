// Clients that request one page again and again, each time over a new connection: the process of http-load.ts.

import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { LoadCounts, LoadOrder } from "./http-load.ts";

const { host, port, from, clients, timeoutMs, pauseMs } = JSON.parse(process.argv[2] ?? "{}") as LoadOrder;
/** A hostile or broken page is not read for ever. */
const MOST_BYTES = 65_536;
const counts = {
  answered: 0,
  lost: {} as Record<string, number>,
  bodies: {} as Record<string, number>,
  longestGapMs: 0,
};
let isEnding = false;
let lastAnswerAt = performance.now();
process.on("SIGTERM", () => {
  isEnding = true;
});
// Whoever counts is gone.
process.stdout.on("error", () => process.exit());
const say = () => process.stdout.write(`${JSON.stringify(counts satisfies LoadCounts)}\n`);
const timer = setInterval(say, 100);
await Promise.all(
  Array.from({ length: clients }, async () => {
    while (!isEnding) {
      count(await requestOnce());
      if (pauseMs > 0) await delay(pauseMs);
    }
  }),
);
clearInterval(timer);
say();

type Outcome = { readonly body: string } | { readonly lost: string };

function count(outcome: Outcome): void {
  if ("lost" in outcome) {
    counts.lost[outcome.lost] = (counts.lost[outcome.lost] ?? 0) + 1;
    return;
  }
  const now = performance.now();
  counts.longestGapMs = Math.max(counts.longestGapMs, Math.round(now - lastAnswerAt));
  lastAnswerAt = now;
  counts.answered += 1;
  counts.bodies[outcome.body] = (counts.bodies[outcome.body] ?? 0) + 1;
}

/** A connection that is not accepted, is reset, says nothing in time or ends in the middle of an answer is lost. */
function requestOnce(): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...(from === undefined ? {} : { localAddress: from }) });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (outcome: Outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.setTimeout(timeoutMs, () => end({ lost: socket.connecting ? "not accepted" : "no answer" }));
    socket.on("error", (error: NodeJS.ErrnoException) => end({ lost: error.code ?? error.message }));
    socket.on("connect", () => socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`));
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) end({ lost: "too long" });
      else chunks.push(chunk);
    });
    socket.on("end", () => end(outcomeOf(Buffer.concat(chunks).toString("latin1"))));
  });
}

function outcomeOf(text: string): Outcome {
  const at = text.indexOf("\r\n\r\n");
  const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
  if (status === undefined || at < 0) return { lost: "ended" };
  if (status !== "200") return { lost: status };
  const body = text.slice(at + 4);
  const length = /^content-length: *(\d+)/im.exec(text.slice(0, at))?.[1];
  if (length !== undefined && Number(length) !== body.length) return { lost: "cut off" };
  return { body: body.trim().slice(0, 100) };
}
