import { type DatabaseBroker, type Migrate, startDatabaseBroker } from "./database-broker.ts";

let broker: Promise<DatabaseBroker> | undefined;
let users = 0;

/** Vitest calls this once per project of a run; they share one broker, and so one Postgres. */
export async function setup(): Promise<() => Promise<void>> {
  users += 1;
  broker ??= startDatabaseBroker(loadMigrate);
  const shared = await broker;
  return async () => {
    users -= 1;
    if (users > 0) return;
    broker = undefined;
    await shared.stop();
  };
}

async function loadMigrate(): Promise<Migrate> {
  return (await import("@kule/database/migrate")).migrate;
}
