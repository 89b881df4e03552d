// The release before and this one side by side, process by process, while everything is used.

import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import { optionalPart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EdgeTestbed } from "../network-jobs/edge-testbed.ts";
import { agentPair, undeclaredKind } from "../upgrade/agent-pairs.ts";
import { buildElsewhere, commitBefore, type OtherBuild } from "../upgrade/other-build.ts";
import { ownBuild, rollingUpgrade } from "../upgrade/rolling-upgrade.ts";

/** With those of load balancers, and of networks where this machine can have an edge. */
const hasEdge = (await EdgeTestbed.missing()) === undefined;
const allDone = { cases: SERVER_JOB_KINDS.length + (hasEdge ? 2 : 1), violations: [] };
const size = { clients: 2, apis: 2, hasPanel: true, pauseMs: 1_000 };
const minutes = (count: number) => ({ timeout: count * 60_000 });
const before = commitBefore();
const part = optionalPart(
  "the commit before",
  "reason" in before ? before.reason : undefined,
  import.meta.filename,
);

// Without it, this tree built in another folder: what the two know of each other is then not proven, and all else is.
describe(part.missing ? "this tree, built in another folder" : "the commit before", () => {
  let other: OtherBuild;
  let own: Awaited<ReturnType<typeof ownBuild>>;
  beforeAll(async () => {
    const commit = "commit" in before ? before.commit : null;
    [other, own] = await Promise.all([buildElsewhere(commit), ownBuild(true)]);
  }, 600_000);
  afterAll(() => other?.remove());

  test("is replaced by this one in use, without an error", minutes(5), async () => {
    const { violations, figures } = await rollingUpgrade(other, own, size, () => {});
    expect(violations, JSON.stringify(figures)).toEqual([]);
  });

  test("and back, without an error", minutes(5), async () => {
    const { violations, figures } = await rollingUpgrade(own, other, size, () => {}, "back");
    expect(violations, JSON.stringify(figures)).toEqual([]);
  });

  test("has an agent that does every kind of job for this one's API", minutes(5), async () => {
    expect(await agentPair("its agent", { agent: other.mains.agent }, {}, "every kind")).toEqual(allDone);
  });

  test("has an API for which this one's agent does every kind of job", minutes(5), async () => {
    expect(await agentPair("its API", { api: other.mains.api }, {}, "every kind")).toEqual(allDone);
  });
});

describe("versions that know different things", () => {
  test.each([
    ["an agent of a later version", { newerAgent: true }],
    ["an API of a later version", { newerApi: true }],
    ["an API of an earlier version", { missing: ["/agent/load-balancers", "/agent/consoles/claim"] }],
  ])("work together: %s", minutes(5), async (name, skew) => {
    expect(await agentPair(name, {}, skew, "every kind")).toEqual(allDone);
  });

  test(
    "a kind of job waits for an agent that declares it, and keeps no other from it",
    minutes(5),
    async () => {
      expect(await undeclaredKind()).toEqual({ cases: 1, violations: [] });
    },
  );
});
