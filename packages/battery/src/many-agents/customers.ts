import { setTimeout as delay } from "node:timers/promises";
import type { RegionWorld } from "@kule/testing/region-world";

/** What customers saw that they must not see, and what they achieved. */
export type CustomerFindings = { readonly violations: string[]; servers: number };

/**
 * Customers who create real servers through the public API and delete them again, each one after the other,
 * until they are stopped: creates, deletes while creating, cancels, restores, destroys at the end of the
 * buffer.
 */
export async function customers(
  world: RegionWorld,
  count: number,
  subnetId: string,
  random: () => number,
  signal: AbortSignal,
): Promise<CustomerFindings> {
  const word: CustomerFindings = { violations: [], servers: 0 };
  await Promise.all(
    Array.from({ length: count }, async (_, customer) => {
      for (let turn = 0; !signal.aborted; turn += 1)
        await oneServer(world, `c${customer}-${turn}`, subnetId, random, word, signal).catch(
          (error: unknown) => {
            word.violations.push(
              `customer ${customer}: ${error instanceof Error ? error.message.slice(0, 500) : String(error)}`,
            );
          },
        );
    }),
  );
  return word;
}

async function oneServer(
  world: RegionWorld,
  name: string,
  subnetId: string,
  random: () => number,
  word: CustomerFindings,
  signal: AbortSignal,
): Promise<void> {
  const api = world.organisation;
  const made = await accepted(`create of ${name}`, () =>
    api.POST("/servers", {
      body: { name, region: "lab1", image: "ubuntu-24.04", package: "s", subnet_id: subnetId },
    }),
  );
  if (!("job" in made)) throw new Error(`the create of ${name} answered no job`);
  word.servers += 1;
  const path = { params: { path: { server_id: made.server.id } } };
  if (random() < 0.6) await untilDoneOr(world, made.job.id, signal);
  await accepted(`delete of ${name}`, () => api.DELETE("/servers/{server_id}", path));
  if (random() < 0.5) {
    await delay(random() * 300);
    // The buffer may have ended by then: then the worker destroys it.
    const cancelled = await api.POST("/servers/{server_id}/cancel-deletion", path);
    if (cancelled.response.status === 202) {
      await delay(random() * 300);
      await accepted(`second delete of ${name}`, () => api.DELETE("/servers/{server_id}", path));
    } else if (cancelled.response.status >= 500 && cancelled.response.status !== 503)
      word.violations.push(`cancel of ${name} answered ${cancelled.response.status}`);
  }
}

/** Waits for a job for a limited time; whether it is stuck is checked when the run has ended. */
async function untilDoneOr(world: RegionWorld, jobId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { data } = await world.organisation.GET("/jobs/{job_id}", {
      params: { path: { job_id: jobId }, query: { wait: 2 } },
    });
    if (data?.done) return;
    if (data === undefined) await delay(500);
  }
}

type Answer<T> = { data?: T; error?: unknown; response: Response };

async function accepted<T>(what: string, ask: () => Promise<Answer<T>>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const { data, error, response } = await ask();
    if (data !== undefined) return data;
    if (response.status !== 503 || tries === 10)
      throw new Error(`${what} answered ${response.status} ${JSON.stringify(error)}`);
    await delay(200);
  }
}
