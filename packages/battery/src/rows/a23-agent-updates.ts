import { attacks } from "../agent-updates/attacks.ts";
import { awayForAWeek, twoAtOnce } from "../agent-updates/away.ts";
import { badBuilds, noWayBack } from "../agent-updates/bad-builds.ts";
import { badDisks } from "../agent-updates/bad-disks.ts";
import { duringJobs } from "../agent-updates/during-jobs.ts";
import { killedUpdaters } from "../agent-updates/killed-updaters.ts";
import type { Part } from "../agent-updates/part.ts";
import { percentile } from "../judgement.ts";
import type { Row } from "../row.ts";

const PARTS: readonly Part[] = [
  attacks,
  badBuilds,
  noWayBack,
  badDisks,
  awayForAWeek,
  twoAtOnce,
  duringJobs,
  killedUpdaters,
];
/** A build that is not taken back before has to be blamed first: the control plane has to answer the former one for a minute. */
const RECOVERY_SECONDS = 120;

const versions = "apps/agent/src/update/versions.ts";
const accept = "packages/agent-release/src/accept-release.ts";
const watch = "apps/agent/src/update/watch.ts";

export const row: Row = {
  id: "A23",
  title:
    "Whatever is offered to an agent and wherever its updater is killed, a complete version that the publisher has signed runs, and one that does not work is taken back",
  minutes: 6,
  mutants: [
    {
      name: "link-removed-first",
      removes: "the one rename that puts a version into use",
      patches: [
        {
          file: versions,
          find: '      await this.#crashPoint("update.swap.link-made");\n',
          replace:
            '      rmSync(link, { force: true });\n      await this.#crashPoint("update.swap.link-made");\n',
        },
      ],
      expects: /the link of the agent leads nowhere/,
    },
    {
      name: "not-compared",
      removes: "the comparison of the copied file with its signed manifest",
      patches: [{ file: versions, find: "if (digest !== sha256)", replace: 'if (digest === "")' }],
      expects: /which is not what was signed for it/,
    },
    {
      name: "replayed",
      removes: "the memory of the newest version that has run",
      patches: [
        {
          file: accept,
          find: "if (known.highestVersion !== null && compareVersions(version, known.highestVersion) <= 0)",
          replace: "if (known.highestVersion === version && known.highestVersion === null)",
        },
      ],
      expects: /replay of a release that has run/,
    },
    {
      name: "expired",
      removes: "the end of a manifest",
      patches: [{ file: accept, find: "if (nowMs >= Date.parse(expiresAt))", replace: "if (nowMs < 0)" }],
      expects: /freeze at an expired release/,
    },
    {
      name: "keys-by-number",
      removes: "the memory of the publisher's newer keys",
      patches: [
        {
          file: "packages/agent-release/src/release-keys.ts",
          find: "let newest = known !== null && known.generation >= builtIn.generation ? known : builtIn;",
          replace: "let newest = known === null ? builtIn : builtIn;",
        },
      ],
      expects: /a replaced key/,
    },
    {
      name: "links-followed",
      removes: "that root follows no link of the agent's user",
      patches: [
        {
          file: "apps/agent/src/update/request.ts",
          find: "O_RDONLY | O_NOFOLLOW | O_NONBLOCK",
          replace: "O_RDONLY | O_NONBLOCK",
        },
      ],
      expects: /a link in the place of/,
    },
    {
      name: "not-watched",
      removes: "the watch for a process that ends by itself",
      patches: [
        {
          file: watch,
          find: 'if (service.kind === "crashed") return bad("crashed", service.how);',
          replace:
            'if (service.kind === "crashed") return { memory, end: { kind: "proven" }, askOld: false };',
        },
      ],
      expects: /a build that (ends|dies) .*: 1\.1\.0 stays/,
    },
    {
      name: "blamed-for-an-outage",
      removes: "the question whether the former version is answered",
      patches: [
        {
          file: watch,
          find: "const isBlamed = reachableSinceMs !== null && uptimeMs - reachableSinceMs >= limits.reachableMs;",
          replace: "const isBlamed = true;",
        },
      ],
      expects: /taken back for a control plane that was away/,
    },
    {
      name: "tried-again",
      removes: "the memory of versions that did not work",
      patches: [
        {
          file: accept,
          find: "if (known.badVersions.includes(version))",
          replace: "if (known.badVersions.length > 1000)",
        },
      ],
      expects: /it is tried once more/,
    },
    {
      name: "not-drained",
      removes: "the wait for the jobs that the agent holds",
      patches: [
        {
          file: "apps/agent/src/update/update-loop.ts",
          find: "while (claims.runningJobs > 0) {",
          replace: "while (claims.runningJobs > 1000) {",
        },
      ],
      expects: /the updater is asked while it held the job/,
    },
    {
      name: "two-locks",
      removes: "the lock of whoever changes the installation",
      patches: [
        {
          file: "apps/agent/src/update/lock.ts",
          find: "if (status === 75) return null;",
          replace: "if (status === 75) return { release: () => {} };",
        },
      ],
      expects: /two updaters have the lock at once/,
    },
  ],
  async run(run) {
    let cases = 0;
    const figures: Record<string, number | string> = {};
    const recoverySeconds: number[] = [];
    for (const part of PARTS) {
      const { what, cases: tried, found, recoverySeconds: seconds = [], missing } = await part(run);
      cases += tried;
      figures[what] = tried;
      if (missing !== undefined) figures[`why no ${what}`] = missing;
      recoverySeconds.push(...seconds);
      if (found.length > 0) return { cases, violations: found, figures };
      run.progress(`${what}: ${tried} cases`);
    }
    const p95 = percentile(recoverySeconds, 0.95);
    const violations =
      p95 === null || p95 > RECOVERY_SECONDS
        ? [`the former version ran again after ${p95} s (p95), not within ${RECOVERY_SECONDS} s`]
        : [];
    return { cases, violations, recoverySeconds, figures };
  },
};
