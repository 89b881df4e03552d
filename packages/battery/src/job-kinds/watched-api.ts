import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import type { RowRun } from "../row.ts";
import type { RegionScene } from "./region-scene.ts";

/** A way to the API on which everything that passes is kept. */
export type WatchedApi = {
  readonly origin: string;
  /** What has passed so far. */
  readonly exchanges: readonly Exchange[];
};

/** Opens one for as long as the work takes. */
export async function withWatchedApi<Result>(
  scene: RegionScene,
  { random }: Pick<RowRun, "random">,
  work: (api: WatchedApi) => Promise<Result>,
): Promise<Result> {
  const exchanges: Exchange[] = [];
  const proxy = await HttpFaultProxy.open({
    target: new URL(scene.world.apiUrl).origin,
    random,
    // An agent that was stopped for long finds its connection as it was.
    keepsIdleConnections: true,
    onExchange: (exchange) => void exchanges.push(exchange),
  });
  try {
    return await work({ origin: proxy.origin, exchanges });
  } finally {
    await proxy.close();
  }
}
