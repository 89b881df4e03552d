import { checkServer } from "./external.ts";
import { type PostgresOptions, type RunningPostgres, startPostgres } from "./launcher.ts";

export type OpenedPostgres = Pick<RunningPostgres, "ownerUrl" | "unexpectedEnd" | "stop"> & {
  external: boolean;
};

/**
 * The Postgres of `databaseUrl` (usually the environment's DATABASE_URL) after checking that it suits, or an
 * embedded one when there is none. Stopping an external one does nothing.
 */
export async function openPostgres(
  databaseUrl: string | undefined,
  options: PostgresOptions,
): Promise<OpenedPostgres> {
  if (databaseUrl === undefined || databaseUrl === "") {
    return { ...(await startPostgres(options)), external: false };
  }
  const { serverVersion } = await checkServer(databaseUrl);
  options.log(`using PostgreSQL ${serverVersion} from DATABASE_URL`);
  return {
    ownerUrl: databaseUrl,
    external: true,
    unexpectedEnd: new Promise(() => {}),
    stop: async () => {},
  };
}
