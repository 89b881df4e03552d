import { ReleaseFolder } from "../platform/release-folder.ts";
import type { Settings } from "../platform/settings.ts";
import { advice, type Finding, good, someOf, wrong } from "./finding.ts";

const check = "agent releases";
const fix = "put it there again as the publisher gave it: docs/runbooks/agent-updates.md";

/** Whether every file of the folder of releases is what its manifest says. */
export async function checkAgentReleases({ agentReleases }: Settings, now: () => number): Promise<Finding[]> {
  if (agentReleases === null)
    return [good(check, "none: agents are updated by hand only (KULE_AGENT_RELEASES)")];
  const contents = await new ReleaseFolder(agentReleases).checked();
  if (contents === null) return [];
  const { releases, problems } = contents;
  const ofFiles = releases.flatMap(({ release, files }) =>
    files.flatMap(({ architecture, checked }) =>
      checked?.problem == null
        ? []
        : [wrong(check, `the file of ${release.version} for ${architecture}: ${checked.problem}`, fix)],
    ),
  );
  const ofFolder = problems.map(({ path, message }) =>
    wrong(check, `${path === "." ? agentReleases : path}: ${message}`, fix),
  );
  const expired = releases.filter(({ release }) => Date.parse(release.expires_at) <= now());
  const [newest] = releases;
  const summary =
    newest === undefined
      ? advice(check, "the folder has no release", "docs/runbooks/agent-updates.md")
      : newest === expired[0]
        ? advice(
            check,
            `the newest release, ${newest.release.version}, has expired: agents refuse it`,
            "get a newer one from the publisher",
          )
        : good(check, `${releases.length}: ${someOf(releases.map(({ release }) => release.version))}`);
  return [...ofFolder.slice(0, 20), ...ofFiles.slice(0, 20), summary];
}
