import type pg from "pg";
import type { Logger } from "../../platform/log.ts";
import { primaryPool } from "../../platform/primary-client.ts";
import type { AuditKeys } from "./audit-keys.ts";
import { sealAll } from "./verify-audit.ts";

/** How long an entry waits for its seal, when a worker runs and no transaction is older. */
const everyMs = 5_000;

/** Seals new rows of the audit trail until stopped. A failure is retried the next time. */
export function keepSealing(
  ownerUrl: string,
  keys: AuditKeys | null,
  log: Logger,
): { stop(): Promise<void> } {
  if (keys === null) {
    log.warn("KULE_AUDIT_KEYS is not set: the audit trail is not sealed, and changed rows are not detected");
    return { stop: async () => {} };
  }
  const owner = primaryPool(
    { connectionString: ownerUrl, max: 1, application_name: "kule-audit-seals" },
    (error) => log.warn({ err: error }, "the connection that seals the audit trail broke"),
  );
  let sealing: Promise<void> | null = null;
  const seal = () => {
    sealing ??= sealOnce(owner, keys)
      .catch((error: unknown) => log.warn({ err: error }, "could not seal the audit trail; retrying"))
      .finally(() => {
        sealing = null;
      });
  };
  seal();
  const timer = setInterval(seal, everyMs);
  let stopped: Promise<void> | null = null;
  const end = async () => {
    clearInterval(timer);
    await sealing;
    await owner.end();
  };
  return {
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}

async function sealOnce(owner: pg.Pool, keys: AuditKeys): Promise<void> {
  const client = await owner.connect();
  try {
    await sealAll(client, keys);
  } finally {
    client.release();
  }
}
