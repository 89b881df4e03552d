import { randomBytes } from "node:crypto";
import { networkInterfaces } from "node:os";
import type { Deps } from "../../platform/deps.ts";
import { newId } from "../../platform/ids.ts";
import { noteReplica, type Replica, removeReplica } from "./replica-store.ts";

const everyMs = 5_000;

/**
 * Registers this process for the others until it is stopped. While the database is unreachable, that is tried
 * again.
 */
export async function announceReplica(
  deps: Pick<Deps, "db" | "log">,
  address: string,
): Promise<{ readonly replica: Replica; stop(): Promise<void> }> {
  const replica = { id: newId("rep"), address, secret: randomBytes(32).toString("base64url") };
  const note = () =>
    noteReplica(deps.db, replica).catch((error: unknown) =>
      deps.log.debug({ err: error }, "could not record this process's presence"),
    );
  await note();
  const timer = setInterval(note, everyMs);
  timer.unref();
  return {
    replica,
    async stop() {
      clearInterval(timer);
      await removeReplica(deps.db, replica.id).catch(() => {});
    },
  };
}

/** Where others on the network reach a process that listens there. */
export function addressOf(host: string, port: number): string {
  if (host !== "0.0.0.0" && host !== "::") return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const outward = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ internal, family }) => !internal && family === "IPv4");
  return `http://${outward?.address ?? "127.0.0.1"}:${port}`;
}
