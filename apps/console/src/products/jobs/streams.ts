import type { ApiClient } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { readEvents } from "./event-stream.ts";

type Job = Schemas["Job"];

/**
 * The open jobs that browsers watch. However many browsers watch a job, the API serves one stream for it; its state is
 * dropped when the last of them disconnects.
 */
export type JobStreams = {
  /**
   * Yields the job each time it changes, starting with its known state. Ends when the job is done, when `signal`
   * aborts, or when the API does not return the job any more.
   *
   * @param scope the organisation of which the caller was just verified as a member; scopes never share a stream
   */
  watch(scope: string, jobId: string, client: ApiClient, signal: AbortSignal): AsyncGenerator<Job>;
  /** The newest state of a job that is being watched in this scope. */
  latest(scope: string, jobId: string): Job | null;
  /** How many streams are open to the API. */
  readonly upstreams: number;
};

type Channel = {
  latest: Job | null;
  ended: boolean;
  /** Resolves at the next change, and is replaced then. */
  changed: PromiseWithResolvers<void>;
  watchers: number;
  readonly stop: AbortController;
};

/** @param reconnectMs pause before a broken stream is reopened; the contract requires 5 seconds */
export function createJobStreams(reconnectMs = 5000): JobStreams {
  const channels = new Map<string, Channel>();

  function join(key: string, jobId: string, client: ApiClient): Channel {
    const known = channels.get(key);
    if (known !== undefined) return known;
    const channel: Channel = {
      latest: null,
      ended: false,
      changed: Promise.withResolvers(),
      watchers: 0,
      stop: new AbortController(),
    };
    channels.set(key, channel);
    follow(channel, jobId, client, reconnectMs).finally(() => {
      channel.ended = true;
      if (channels.get(key) === channel) channels.delete(key);
      channel.changed.resolve();
    });
    return channel;
  }

  return {
    async *watch(scope, jobId, client, signal) {
      const channel = join(`${scope} ${jobId}`, jobId, client);
      channel.watchers += 1;
      const aborted = new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      try {
        let shown: Job | null = null;
        while (!signal.aborted) {
          const { changed, latest } = channel;
          if (latest !== null && latest !== shown) {
            shown = latest;
            yield latest;
            continue;
          }
          if (channel.ended) return;
          await Promise.race([changed.promise, aborted]);
        }
      } finally {
        channel.watchers -= 1;
        if (channel.watchers === 0) channel.stop.abort();
      }
    },
    latest: (scope, jobId) => channels.get(`${scope} ${jobId}`)?.latest ?? null,
    get upstreams() {
      return channels.size;
    },
  };
}

/** Keeps one stream open until the job is done, nobody watches, or the API refuses. */
async function follow(
  channel: Channel,
  jobId: string,
  client: ApiClient,
  reconnectMs: number,
): Promise<void> {
  const { signal } = channel.stop;
  let lastEventId = "";
  while (!signal.aborted) {
    try {
      const { data, response } = await client.GET("/jobs/{job_id}/events", {
        params: {
          path: { job_id: jobId },
          header: lastEventId === "" ? {} : { "Last-Event-ID": lastEventId },
        },
        parseAs: "stream",
        signal,
      });
      if (response.ok && data !== undefined && data !== null)
        for await (const event of readEvents(data as ReadableStream<Uint8Array>)) {
          if (event.event !== "job") continue;
          lastEventId = event.id;
          publish(channel, JSON.parse(event.data) as Job);
          if (channel.latest?.done) return;
        }
      // 401, 403, 404 are final. 429 and 5xx are temporary.
      else if (response.status < 500 && response.status !== 429) return;
    } catch {
      // The connection broke, or the last watcher disconnected. Either way the loop decides.
    }
    await pause(reconnectMs, signal);
  }
}

function publish(channel: Channel, job: Job): void {
  channel.latest = job;
  const { changed } = channel;
  channel.changed = Promise.withResolvers();
  changed.resolve();
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
