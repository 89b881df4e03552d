import type { Deps } from "../../platform/deps.ts";
import { listenFor, type NewsListener } from "../../platform/news.ts";

/** Listens for changes of one job. */
export function listenToJob({ notifications }: Pick<Deps, "notifications">, jobId: string): NewsListener {
  return listenFor(notifications, "kule_job", (changed) => changed === jobId);
}
