// The cluster as a whole: which nodes answer, and which tasks of our token run on them.

import type { ProxmoxClient } from "./client.ts";
import { isOf, isRunning } from "./clone-task.ts";
import { ProxmoxError } from "./errors.ts";
import type { RunningTask } from "./hypervisor.ts";

/** The nodes that answer at the moment. */
export async function onlineNodes(client: ProxmoxClient, signal?: AbortSignal): Promise<string[]> {
  const nodes = await client.call("GET /nodes", {}, { signal });
  return nodes
    .filter((each) => each.status === "online")
    .map((each) => each.node)
    .sort();
}

/** The running tasks of the client's token on every node that answers. */
export async function observeActiveTasks(
  client: ProxmoxClient,
  signal?: AbortSignal,
): Promise<RunningTask[]> {
  const found: RunningTask[] = [];
  for (const node of await onlineNodes(client, signal)) {
    try {
      const tasks = await client.call("GET /nodes/{node}/tasks", { node, source: "active" }, { signal });
      for (const task of tasks)
        if (isRunning(task) && isOf(client.tokenId, task)) found.push({ upid: task.upid, type: task.type });
    } catch (error) {
      if (!(error instanceof ProxmoxError) || error.outcome !== "retryable") throw error;
    }
  }
  return found;
}
