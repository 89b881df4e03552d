import { describe, expect, test } from "vitest";
import { decideStep, type Rollout, type RolloutRegion, type RolloutSettings } from "./decide-step.ts";
import type { SeenAgent } from "./judge-region.ts";

const version = "1.4.0";
// A Friday.
const noon = Date.parse("2026-11-27T12:00Z");
const minutes = (count: number) => count * 60_000;

const old: SeenAgent = { name: "a1", version: "1.3.0", architecture: "x64", canUpdate: true, update: null };
const current: SeenAgent = { ...old, version };

const settings: RolloutSettings = { window: null, paused: false, waitMinutes: 60, maxAtOnce: 2 };

function waiting(region: string, more: Partial<RolloutRegion["seen"]> = {}): RolloutRegion {
  return {
    ...{ region, state: "waiting", isDirect: false, offeredAtMs: null, endedAtMs: null, baseline: null },
    seen: { reportAgeSeconds: 10, ok: true, okAgeSeconds: 3_600, agents: [old], ...more },
    jobs: { ended: 0, failed: 0 },
  };
}
const offered = (region: string, agents: readonly SeenAgent[] = [old]): RolloutRegion => ({
  ...waiting(region, { agents }),
  ...{ state: "offered", offeredAtMs: noon - minutes(10) },
  baseline: { ok: true, jobs: { ended: 0, failed: 0 } },
});
const updated = (region: string, minutesAgo: number): RolloutRegion => ({
  ...offered(region, [current]),
  ...{ state: "updated", offeredAtMs: noon - minutes(minutesAgo + 5), endedAtMs: noon - minutes(minutesAgo) },
});

function step(
  regions: readonly RolloutRegion[],
  more: Partial<RolloutSettings> = {},
  of: Partial<Rollout> = {},
  nowMs = noon,
) {
  const rollout: Rollout = {
    ...{ version, status: "running", firstRegion: regions[0]?.region ?? null, architectures: ["x64", "arm64"] },
    ...{ releaseExpiresAtMs: noon + minutes(60 * 24 * 30), regions },
    ...of,
  };
  return decideStep(rollout, { ...settings, ...more }, nowMs);
}

describe("a rollout", () => {
  test("offers the version to the first region, and to no other one", () => {
    expect(step([waiting("a"), waiting("b"), waiting("c")])).toMatchObject({
      status: "running",
      changes: [{ region: "a", to: "offered" }],
      waitsFor: "regions",
    });
    expect(step([offered("a"), waiting("b")])).toMatchObject({ changes: [], waitsFor: "regions" });
  });

  test("waits after the first region has updated, and says until when", () => {
    expect(step([offered("a", [current]), waiting("b")])).toMatchObject({
      changes: [{ region: "a", to: "updated" }],
      waitsFor: "time",
      waitsUntilMs: noon + minutes(60),
    });
    expect(step([updated("a", 59), waiting("b")])).toMatchObject({
      changes: [],
      waitsFor: "time",
      waitsUntilMs: noon + minutes(1),
    });
  });

  test("then offers it to the others, some at a time", () => {
    expect(step([updated("a", 60), waiting("b"), waiting("c"), waiting("d")])).toMatchObject({
      changes: [
        { region: "b", to: "offered" },
        { region: "c", to: "offered" },
      ],
    });
    expect(step([updated("a", 60), offered("b"), offered("c"), waiting("d")])).toMatchObject({
      changes: [],
      waitsFor: "regions",
    });
    expect(step([updated("a", 60), updated("b", 1), offered("c"), waiting("d")]).changes).toEqual([
      { region: "d", to: "offered" },
    ]);
  });

  test("is done when every region has ended", () => {
    expect(step([updated("a", 90), offered("b", [current])])).toMatchObject({
      status: "done",
      changes: [{ region: "b", to: "updated" }],
      waitsFor: null,
    });
  });

  test("offers nothing outside of the window, and says when it opens", () => {
    const window = { days: ["fri"], from: "22:00", to: "04:00" } as const;
    expect(step([waiting("a")], { window })).toMatchObject({
      changes: [],
      waitsFor: "window",
      waitsUntilMs: Date.parse("2026-11-27T22:00Z"),
    });
    expect(step([waiting("a")], { window }, {}, Date.parse("2026-11-27T22:00Z")).changes).toHaveLength(1);
    expect(step([updated("a", 90), waiting("b")], { window })).toMatchObject({ changes: [], waitsFor: "window" });
  });

  test("offers nothing while it or all updates are paused, and watches all the same", () => {
    expect(step([waiting("a")], { paused: true })).toMatchObject({ changes: [], waitsFor: "paused_settings" });
    expect(step([waiting("a")], {}, { status: "paused" })).toMatchObject({ status: "paused", changes: [] });
    const agents = [{ ...old, update: { version, state: "rolled_back", message: null, isNew: true } }];
    for (const more of [{ paused: true }, {}])
      expect(step([offered("a", agents)], more, { status: "paused" })).toMatchObject({ status: "stopped" });
  });

  test("stops when a region fails, and names it", () => {
    const agents = [{ ...old, update: { version, state: "rolled_back", message: "it crashed", isNew: true } }];
    expect(step([updated("a", 90), offered("b", agents), offered("c", [current]), waiting("d")])).toEqual({
      status: "stopped",
      reason: "Region b: agent a1 went back to its old version: it crashed",
      changes: [
        { region: "b", to: "failed", reason: "agent a1 went back to its old version: it crashed" },
        { region: "c", to: "updated" },
      ],
      waitsFor: null,
      waitsUntilMs: null,
    });
  });

  test("stops when a region that has updated gets worse while it is watched, and not later", () => {
    const silent = (minutesAgo: number) => ({
      ...updated("a", minutesAgo),
      seen: { ...updated("a", 0).seen, reportAgeSeconds: 400, agents: [] },
    });
    expect(step([silent(30), waiting("b")])).toMatchObject({ status: "stopped" });
    expect(step([silent(61), waiting("b")])).toMatchObject({
      status: "running",
      changes: [{ region: "b", to: "offered" }],
    });
  });

  test("stops when the release has expired", () => {
    expect(step([offered("a")], {}, { releaseExpiresAtMs: noon })).toMatchObject({
      status: "stopped",
      reason: "The release has expired: agents refuse it from now on",
    });
  });

  test.each([
    ["has never reported", waiting("a", { reportAgeSeconds: null, agents: [] }), "it has never reported"],
    [
      "has no agent",
      { ...waiting("a"), isDirect: true },
      "it has no agent: the control plane's worker does its jobs",
    ],
    ["has the version", waiting("a", { agents: [current] }), "its agents run the version already"],
    [
      "has an agent that cannot update itself",
      waiting("a", { agents: [old, { ...old, name: null, canUpdate: false }] }),
      "its agent cannot update itself",
    ],
    [
      "has an agent of another architecture",
      waiting("a", { agents: [{ ...old, architecture: "arm64" }] }),
      "the release has no file for agent a1 (arm64)",
    ],
  ])("skips a region that %s, and goes on with the next", (_what, region, reason) => {
    expect(step([region, waiting("b"), waiting("c")], {}, { architectures: ["x64"] })).toMatchObject({
      status: "running",
      changes: [
        { region: "a", to: "skipped", reason },
        { region: "b", to: "offered" },
      ],
    });
  });

  test("is done when there is nobody to update", () => {
    expect(step([waiting("a", { agents: [current] })])).toMatchObject({ status: "done" });
    expect(step([])).toMatchObject({ status: "done", changes: [] });
  });

  test("waits for its first region when that is silent", () => {
    const silent = { reportAgeSeconds: 61, agents: [] };
    expect(step([waiting("a", silent), waiting("b")])).toMatchObject({
      status: "running",
      changes: [],
      waitsFor: "regions",
    });
  });

  test("leaves a silent region for later, and skips it at the end", () => {
    const silent = waiting("b", { reportAgeSeconds: 61, agents: [] });
    expect(step([updated("a", 90), silent, waiting("c")])).toMatchObject({
      status: "running",
      changes: [{ region: "c", to: "offered" }],
    });
    expect(step([updated("a", 90), silent, updated("c", 1)])).toMatchObject({
      status: "done",
      changes: [{ region: "b", to: "skipped", reason: "the region is silent" }],
    });
  });
});
