import { describe, expect, test } from "vitest";
import { judgeRegion, type SeenAgent, type SeenRegion, type WatchedRegion } from "./judge-region.ts";

const version = "1.4.0";
const old: SeenAgent = { name: "a1", version: "1.3.0", architecture: "x64", canUpdate: true, update: null };
const updated: SeenAgent = { ...old, version, update: updateTo("done") };

function updateTo(state: string, more: Partial<NonNullable<SeenAgent["update"]>> = {}) {
  return { version, state, message: null, isNew: true, ...more };
}

const seen = (more: Partial<SeenRegion> = {}): SeenRegion => ({
  reportAgeSeconds: 5,
  ok: true,
  okAgeSeconds: 3_600,
  agents: [updated],
  ...more,
});

const offered = (more: Partial<WatchedRegion> = {}): WatchedRegion => ({
  state: "offered",
  offeredAgeSeconds: 120,
  baseline: { ok: true, jobs: { ended: 100, failed: 5 } },
  seen: seen(),
  jobs: { ended: 0, failed: 0 },
  ...more,
});

const verdict = (more: Partial<WatchedRegion>) => judgeRegion(version, offered(more));

describe("a region that was offered a version", () => {
  test("has updated when all of its agents run the version and have proven it", () => {
    expect(verdict({})).toEqual({ kind: "updated" });
    expect(verdict({ seen: seen({ agents: [updated, { ...updated, name: "a2", update: null }] }) })).toEqual({
      kind: "updated",
    });
  });

  test.each([
    ["one of its agents runs the old version", seen({ agents: [updated, old] })],
    ["no agent reports at the moment", seen({ agents: [] })],
    ["the new version runs and has not proven itself", seen({ agents: [{ ...updated, update: updateTo("swapped") }] })],
    ["it is not ready", seen({ ok: false, okAgeSeconds: 30 })],
  ])("has not updated yet while %s", (_what, now) => {
    expect(verdict({ seen: now })).toEqual({ kind: "unchanged" });
  });

  test("one that was not ready before does not have to be ready afterwards", () => {
    const baseline = { ok: false, jobs: { ended: 0, failed: 0 } };
    expect(verdict({ baseline, seen: seen({ ok: false }) })).toEqual({ kind: "updated" });
  });

  test.each([
    ["refused", "agent a1 refuses the release: signed by nobody"],
    ["rolled_back", "agent a1 went back to its old version: signed by nobody"],
    ["failed", "agent a1 could not update: signed by nobody"],
  ])("fails when an agent reports %s", (state, reason) => {
    const agents = [updated, { ...old, update: updateTo(state, { message: "signed by nobody" }) }];
    expect(verdict({ seen: seen({ agents }) })).toEqual({ kind: "failed", reason });
  });

  test("fails when an agent goes back after the region had updated", () => {
    const agents = [{ ...old, name: null, update: updateTo("rolled_back") }];
    expect(verdict({ state: "updated", seen: seen({ agents }) })).toEqual({
      kind: "failed",
      reason: "its agent went back to its old version",
    });
  });

  test("is not blamed for an update to another version", () => {
    const agents = [{ ...old, update: { ...updateTo("rolled_back"), version: "1.3.9" } }];
    expect(verdict({ seen: seen({ agents }) })).toEqual({ kind: "unchanged" });
  });

  test("an agent that had failed with the version before has five minutes to try again", () => {
    const agents = [{ ...old, update: updateTo("failed", { isNew: false }) }];
    expect(verdict({ offeredAgeSeconds: 299, seen: seen({ agents }) })).toEqual({ kind: "unchanged" });
    expect(verdict({ offeredAgeSeconds: 300, seen: seen({ agents }) })).toMatchObject({ kind: "failed" });
  });

  test("fails when it has been silent for more than five minutes", () => {
    expect(verdict({ seen: seen({ agents: [], reportAgeSeconds: 300 }) })).toEqual({ kind: "unchanged" });
    expect(verdict({ seen: seen({ agents: [], reportAgeSeconds: 301 }) })).toEqual({
      kind: "failed",
      reason: "the region has not reported for more than 5 minutes",
    });
  });

  test("fails when it is no longer ready for two minutes", () => {
    const now = (okAgeSeconds: number) => seen({ agents: [old], ok: false, okAgeSeconds });
    expect(verdict({ seen: now(119) })).toEqual({ kind: "unchanged" });
    expect(verdict({ seen: now(120) })).toMatchObject({ kind: "failed" });
  });

  test.each([
    ["two failed jobs prove nothing", { ended: 2, failed: 2 }, "updated"],
    ["as many as before are none of the update's", { ended: 60, failed: 3 }, "updated"],
    ["a few more are chance", { ended: 20, failed: 3 }, "updated"],
    ["three of four are not", { ended: 4, failed: 3 }, "failed"],
  ] as const)("its share of failed jobs: %s", (_what, jobs, kind) => {
    expect(verdict({ jobs })).toMatchObject({ kind });
  });

  test("says how many jobs failed", () => {
    expect(verdict({ jobs: { ended: 4, failed: 3 } })).toEqual({
      kind: "failed",
      reason: "3 of 4 jobs failed since the update, and 5 of 100 before",
    });
  });
});
