import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { expect, test } from "vitest";
import { jobRecord } from "../../testing/job-record.ts";
import { createJobStreams } from "./streams.ts";

type Answer = {
  readonly status: number;
  readonly events: readonly Schemas["Job"][];
  readonly open?: boolean;
};

/** An API whose event stream returns the given answers, one for each call; the last one repeats. */
function scripted(...answers: Answer[]) {
  const asked: (string | undefined)[] = [];
  const client = {
    GET: async (_: string, options: { params: { header: Record<string, string> }; signal: AbortSignal }) => {
      asked.push(options.params.header["Last-Event-ID"]);
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      if (answer === undefined) throw new Error("nothing to answer");
      const response = { status: answer.status, ok: answer.status === 200 };
      if (!response.ok) return { response };
      const data = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const [index, job] of answer.events.entries())
            controller.enqueue(
              new TextEncoder().encode(
                `event: job\nid: ${asked.length}.${index}\ndata: ${JSON.stringify(job)}\n\n`,
              ),
            );
          if (answer.open)
            options.signal.addEventListener("abort", () => controller.error(new Error("aborted")));
          else controller.close();
        },
      });
      return { data, response };
    },
  };
  return { client: client as unknown as ApiClient, asked };
}

const job = jobRecord();
const at = (progress: number): Schemas["Job"] => ({ ...job, status: "running", progress });
const done: Schemas["Job"] = { ...job, status: "succeeded", done: true, progress: 100 };
const never = () => new AbortController().signal;

test("a broken stream is reopened after the last event that was received, until the job is done", async () => {
  const { client, asked } = scripted(
    { status: 200, events: [at(10), at(20)] },
    { status: 503, events: [] },
    { status: 200, events: [done] },
  );
  const streams = createJobStreams(1);
  const seen = await Array.fromAsync(streams.watch("org_1", job.id, client, never()));
  expect(seen.at(-1)).toEqual(done);
  expect(asked).toEqual([undefined, "1.1", "1.1"]);
  expect(streams.upstreams).toBe(0);
});

test.each([401, 403, 404])("a stream that the API refuses with %i is not retried", async (status) => {
  const { client, asked } = scripted({ status, events: [] });
  const streams = createJobStreams(1);
  expect(await Array.fromAsync(streams.watch("org_1", job.id, client, never()))).toEqual([]);
  expect(asked).toHaveLength(1);
});

test("a later watcher starts with the known state", async () => {
  const { client, asked } = scripted({ status: 200, events: [at(40)], open: true });
  const streams = createJobStreams(1);
  const stop = new AbortController();
  const first = streams.watch("org_1", job.id, client, stop.signal);
  await first.next();
  const second = streams.watch("org_1", job.id, client, stop.signal);
  expect((await second.next()).value?.progress).toBe(40);
  expect(streams.latest("org_1", job.id)?.progress).toBe(40);
  expect(streams.latest("org_2", job.id)).toBe(null);
  expect(asked).toHaveLength(1);
  stop.abort();
  await Promise.all([first.return(undefined), second.return(undefined)]);
  await expect.poll(() => streams.upstreams).toBe(0);
});

test("two organisations never share a stream, whatever the job's id", async () => {
  const one = scripted({ status: 200, events: [at(1)], open: true });
  const two = scripted({ status: 404, events: [] });
  const streams = createJobStreams(1);
  const stop = new AbortController();
  const first = streams.watch("org_1", job.id, one.client, stop.signal);
  await first.next();
  expect(await Array.fromAsync(streams.watch("org_2", job.id, two.client, stop.signal))).toEqual([]);
  expect(two.asked).toHaveLength(1);
  stop.abort();
  await first.return(undefined);
});
