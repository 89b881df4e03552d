import { expect, test } from "vitest";
import { judge, type Sight, WATCH_LIMITS, type WatchMemory, watchSince } from "./watch.ts";

const SECOND = 1_000;
const running = { kind: "running", pid: 7 } as const;
const working = { version: "1.1.0", healthAccepted: true, claimAnswered: true };
const silent = { version: "1.1.0", healthAccepted: false, claimAnswered: false };

/** Looks from the start on, by default once a second, and says how and when it ends. */
function watch(seen: (second: number) => Partial<Sight>, seconds = 3_600, every = 1) {
  let memory: WatchMemory = watchSince(0);
  for (let second = 0; second <= seconds; second += every) {
    const sight = {
      uptimeMs: second * SECOND,
      service: running,
      says: null,
      oldIsAnswered: null,
      ...seen(second),
    };
    const judgement = judge(memory, sight, "1.1.0", WATCH_LIMITS);
    if (judgement.end !== null) return { ...judgement.end, second };
    memory = judgement.memory;
  }
  return { kind: "none" };
}

test("a version that works for its probation has proven itself, and not before", () => {
  expect(watch((second) => ({ says: second < 3 ? null : second < 22 ? silent : working }))).toEqual({
    kind: "proven",
    second: 180,
  });
});

test.each([
  {
    what: "ends at once",
    seen: () => ({ service: { kind: "crashed", how: "status 1" } as const }),
    second: 0,
    code: "crashed",
  },
  {
    what: "ends after 20 s",
    seen: (second: number) =>
      second < 20 ? { says: working } : { service: { kind: "crashed", how: "status 1" } as const },
    second: 20,
    code: "crashed",
  },
  { what: "hangs before it says anything", seen: () => ({}), second: 30, code: "no_sign_of_life" },
  {
    what: "claims nothing while the old version is answered",
    seen: () => ({ says: { ...working, claimAnswered: false }, oldIsAnswered: true }),
    second: 90,
    code: "not_working",
  },
  {
    what: "is another version than it should be",
    seen: () => ({ says: { ...working, version: "1.0.0" } }),
    second: 0,
    code: "another_version",
  },
])("a version that $what is taken back", ({ seen, second, code }) => {
  expect(watch(seen)).toMatchObject({ kind: "bad", code, second });
});

test("a control plane that is away for seven days is nobody's fault, and what follows counts", () => {
  const week = 7 * 86_400;
  expect(watch(() => ({ says: silent, oldIsAnswered: false }), week, 60)).toEqual({ kind: "none" });
  // It comes back, and the new version is answered within its minute.
  expect(
    watch(
      (second) =>
        second < 10_000
          ? { says: silent, oldIsAnswered: false }
          : { says: second < 10_040 ? silent : working, oldIsAnswered: true },
      20_000,
    ),
  ).toMatchObject({ kind: "proven", second: 10_040 });
  // It comes back for the old version only.
  expect(watch((second) => ({ says: silent, oldIsAnswered: second >= 10_000 }), 20_000)).toMatchObject({
    kind: "bad",
    code: "not_working",
    second: 10_060,
  });
});

test("an answer now and then is none: the minute begins again with each time without", () => {
  expect(watch((second) => ({ says: silent, oldIsAnswered: second % 50 !== 0 }), 3_600)).toEqual({
    kind: "none",
  });
});

test("a service that an operator stops, or starts again, has not crashed: its time begins again", () => {
  const stopped = { kind: "stopped" } as const;
  expect(
    watch((second) =>
      second < 100
        ? { says: working }
        : second < 200
          ? { service: stopped }
          : { service: { kind: "running", pid: 8 }, says: working },
    ),
  ).toEqual({ kind: "proven", second: 379 });
  expect(
    watch((second) => ({ service: { kind: "running", pid: second < 100 ? 7 : 8 }, says: working })),
  ).toEqual({ kind: "proven", second: 280 });
});

test("the old version is asked only when the new one takes its time", () => {
  const at = (second: number, says: Sight["says"]) =>
    judge(
      watchSince(0),
      { uptimeMs: second * SECOND, service: running, says, oldIsAnswered: null },
      "1.1.0",
      WATCH_LIMITS,
    ).askOld;
  expect([at(10, silent), at(15, silent), at(15, working)]).toEqual([false, true, false]);
});
