import { runAgent } from "@kule/agent/agent";
import { httpCalls } from "@kule/agent/api-calls";
import { makeLog } from "@kule/agent/log";
import { type AgentSettings, agentSettings, SettingsError } from "@kule/agent/settings";
import { loadRegionFile } from "@kule/region-config/load-region-file";
import type { RegionFile } from "@kule/region-config/region-file";
import { apiRoot, createApp } from "../app.ts";
import type { Deps } from "../platform/deps.ts";
import { BadSettings } from "../platform/settings.ts";
import { mintToken } from "../platform/tokens.ts";
import { keepToken } from "./kept-token.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** A region whose jobs this worker runs itself: its file, and the token that it calls the API with. */
export type DirectRegion = {
  readonly file: RegionFile;
  readonly settings: AgentSettings;
  readonly token: ReturnType<typeof mintToken>;
};

/** Until the region is registered, and as one of mode direct. */
const recheckMs = 5_000;

/**
 * Reads the region files that KULE_DIRECT_REGIONS names, separated by commas. Their secrets come from this
 * process's environment.
 *
 * @throws RegionFileError with what is wrong and where; BadSettings for the environment, or one region in two
 * files
 */
export function readDirectRegions(environment: Environment): DirectRegion[] {
  const paths = (environment.KULE_DIRECT_REGIONS ?? "").split(",").map((path) => path.trim());
  const regions = paths
    .filter((path) => path !== "")
    .map((path) => {
      // It need not be minted by an operator: it outlives this process by a little, and only this process has
      // it.
      const token = mintToken("agent");
      const file = loadRegionFile(path, { ...environment, KULE_AGENT_TOKEN: token.secret });
      return { file, settings: settingsOf(file, environment), token };
    });
  const slugs = regions.map(({ file }) => file.region);
  const twice = slugs.find((slug, index) => slugs.indexOf(slug) !== index);
  if (twice !== undefined) throw new BadSettings(`KULE_DIRECT_REGIONS names region ${twice} twice`);
  return regions;
}

function settingsOf(file: RegionFile, environment: Environment): AgentSettings {
  try {
    return agentSettings(file, environment);
  } catch (error) {
    throw error instanceof SettingsError ? new BadSettings(error.message) : error;
  }
}

/**
 * Does the work of a region's agent in this process: the agent's own loops and programs, with calls of the
 * API that do not leave it. So claims, leases, epochs, reports, health and inventory are those of agent mode,
 * and so is the behaviour when this process is killed or when two of them work for one region.
 *
 * @returns once the signal has come and the running jobs were released
 */
export async function workDirectRegions(
  deps: Deps,
  regions: readonly DirectRegion[],
  environment: Environment,
  stop: AbortSignal,
): Promise<void> {
  if (regions.length === 0) return;
  const app = createApp(deps);
  const inProcess = (request: Request) => Promise.resolve(app.fetch(request));
  await Promise.all(
    regions.map(async ({ file, settings, token }) => {
      if (!(await untilDirect(deps, file.region, stop))) return;
      const keeping = keepToken(deps, token, { region: file.region, name: settings.name }, stop);
      const secrets = [file.hypervisor.token.reveal(), token.secret];
      const log = makeLog({
        secrets: [...secrets, secrets[0]?.split("=", 2)[1] ?? ""],
        level: settings.logLevel,
      });
      await keeping.begun;
      await runAgent(file, settings, environment, log.child({ region: file.region }), stop, {
        calls: httpCalls(`http://worker${apiRoot}`, token.secret, inProcess),
      }).finally(() => keeping.end());
    }),
  );
}

/** A region with an agent is that agent's: its file must not be given to the worker as well. */
async function untilDirect(deps: Deps, slug: string, stop: AbortSignal): Promise<boolean> {
  let said = "";
  while (!stop.aborted) {
    const found = await deps.db
      .selectFrom("region")
      .select("mode")
      .where("slug", "=", slug)
      .executeTakeFirst()
      .then(
        (row) => row?.mode ?? "not registered",
        () => "not known, the database is away",
      );
    if (found === "direct") return true;
    if (found !== said)
      deps.log.error(
        { alarm: true, region: slug },
        `region ${slug} is ${found}: the worker does the jobs of regions that are registered with mode direct`,
      );
    said = found;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, recheckMs);
      stop.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
  return false;
}
