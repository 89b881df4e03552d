import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Seeded } from "@kule/api/commands/seed";
import { bundleApps } from "@kule/build/bundle-apps";
import { findFreePort } from "@kule/postgres/free-port";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";
import { type FreshDatabase, freshDatabase } from "@kule/testing/database";

const root = resolve(import.meta.dirname, "../../../..");

export type ServedReplica = { readonly url: string; readonly process: TestProcess };

/** The API as it ships, as processes on a real Postgres, and nothing else. */
export type ServedApi = {
  readonly database: FreshDatabase;
  readonly replicas: readonly ServedReplica[];
  readonly seeded: Seeded;
  end(): Promise<void>;
};

/** `end` it in any case. Limits and everything else are those of an installation that sets nothing. */
export async function startServedApi(
  count: number,
  env: Readonly<Record<string, string>> = {},
): Promise<ServedApi> {
  const [bundle = ""] = await bundleApps(["apps/api"]);
  const main = join(root, bundle);
  const database = await freshDatabase();
  const processes: TestProcess[] = [];
  const end = async () => {
    await Promise.all(processes.map((each) => each.end("SIGKILL")));
    await database.drop();
  };
  try {
    const apiEnv = {
      KULE_DATABASE_URL: database.apiUrl,
      KULE_OWNER_DATABASE_URL: database.ownerUrl,
      KULE_LOG_LEVEL: "warn",
      ...env,
    };
    const { stdout } = await promisify(execFile)(process.execPath, [main, "seed"], {
      env: { PATH: process.env.PATH ?? "", ...apiEnv },
    });
    const seeded = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Seeded;
    const replicas: ServedReplica[] = [];
    for (let index = 0; index < count; index += 1) {
      const port = await findFreePort();
      const url = `http://127.0.0.1:${port}/api/v1`;
      const started = startProcess(`api ${index + 1}`, [main, "serve"], {
        ...apiEnv,
        KULE_API_PORT: String(port),
      });
      processes.push(started);
      await untilReady(started, async () => ((await fetch(`${url}/readyz`)).ok ? true : undefined));
      replicas.push({ url, process: started });
    }
    return { database, replicas, seeded, end };
  } catch (error) {
    await end();
    throw error;
  }
}
