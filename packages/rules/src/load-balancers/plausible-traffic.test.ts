import { describe, expect, test } from "vitest";
import { doubtInWords, judgeTraffic, mostPerSecond, mostSpareMs } from "./plausible-traffic.ts";
import { type Counted, countUsage, type ListenerCounters, type WorkerCounters } from "./usage.ts";

const nothing: ListenerCounters = { connections: 0, requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 };
const names = Object.keys(nothing) as (keyof ListenerCounters)[];

describe("what a machine can have carried", () => {
  test.each(names)("has a most of %s in a second, of all listeners together", (name) => {
    const most = mostPerSecond[name] * 30;
    const judged = (...values: number[]) =>
      judgeTraffic(
        values.map((value) => ({ ...nothing, [name]: value })),
        { elapsedMs: 30_000, spareMs: 0 },
      );
    expect(judged(most)).toEqual({ doubt: null, spareMs: 0 });
    expect(judged(most / 2, most / 2).doubt).toBeNull();
    expect(judged(most + 1).doubt).toEqual({ counter: name, value: most + 1, inMs: 30_000 });
    expect(judged(most, 1).doubt).toEqual({ counter: name, value: most + 1, inMs: 30_000 });
  });

  test("is 100 Gbit/s in each direction", () => {
    expect([mostPerSecond.bytesIn * 8, mostPerSecond.bytesOut * 8]).toEqual([100e9, 100e9]);
  });

  test("may be of the time that was not used before, up to a minute", () => {
    const second = { ...nothing, bytesOut: mostPerSecond.bytesOut };
    expect(judgeTraffic([second], { elapsedMs: 0, spareMs: 1_000 })).toEqual({ doubt: null, spareMs: 0 });
    expect(judgeTraffic([second], { elapsedMs: 0, spareMs: 999 }).doubt).not.toBeNull();
    expect(judgeTraffic([second], { elapsedMs: 5_000, spareMs: 0 }).spareMs).toBe(4_000);
    expect(judgeTraffic([], { elapsedMs: 86_400_000, spareMs: 0 }).spareMs).toBe(mostSpareMs);
    // A clock that went back gives no time, and takes none.
    expect(judgeTraffic([], { elapsedMs: -5_000, spareMs: 7 })).toEqual({ doubt: null, spareMs: 7 });
  });

  test("is told to operators with the figure and the time", () => {
    const { doubt } = judgeTraffic([{ ...nothing, requests: 2 ** 53 - 1 }], {
      elapsedMs: 29_500,
      spareMs: 0,
    });
    expect(doubt === null ? "" : doubtInWords(doubt)).toBe("reports 9007199254740991 requests in 30 s");
  });
});

describe("a reading of more than a machine can have carried", () => {
  const ids = new Set(["lsn_a", "lsn_b"]);
  const worker = (pid: number, bytesOut: number): WorkerCounters => ({
    bootId: "b",
    pid,
    listeners: new Map([["lsn_a", { ...nothing, bytesOut }]]),
  });
  type Told = readonly [readAtMs: number, ...workers: WorkerCounters[]];
  const counted = (readings: readonly Told[], madeAtMs = 0) => {
    let before: Counted | null = null;
    return readings.map(([readAtMs, ...workers]) => {
      const result = countUsage(before, { readAtMs, workers }, ids, madeAtMs);
      before = result.counted;
      return result.doubt === null ? (result.added.get("lsn_a")?.bytesOut ?? 0) : "doubted";
    });
  };
  const most = 2 ** 53 - 1;

  test("counts nothing, and counting begins again with the one after it", () => {
    expect(
      counted([
        [30_000, worker(1, 100)],
        [60_000, worker(1, most)],
        [90_000, worker(1, 180)],
        [120_000, worker(1, 200)],
      ]),
    ).toEqual([100, "doubted", 0, 20]);
  });

  test("that is repeated is not counted later, when there was time enough for it", () => {
    const hour = 3_600_000;
    const lies = Array.from({ length: 400 }, (_, index): Told => [(index + 1) * hour, worker(1, most)]);
    expect(counted(lies).filter((each) => each !== "doubted" && each > 0)).toEqual([]);
  });

  test("is found also when it is told of many workers, or in many readings at once", () => {
    const terabyte = 10 ** 12;
    expect(counted([[1_000, ...Array.from({ length: 8 }, (_, pid) => worker(pid, terabyte))]])).toEqual([
      "doubted",
    ]);
    const quick = Array.from(
      { length: 100 },
      (_, index): Told => [1_000 + index, worker(index, terabyte / 10)],
    );
    const sum = counted(quick).reduce<number>((all, each) => all + (each === "doubted" ? 0 : each), 0);
    expect(sum).toBeLessThanOrEqual((mostPerSecond.bytesOut * (1_099 + mostSpareMs)) / 1_000);
    expect(sum).toBeGreaterThan(0);
  });

  test("is judged by the time since the machine was made, when it is the first one", () => {
    const day = 86_400_000;
    const ofADay = (mostPerSecond.bytesOut * day) / 1_000;
    expect(counted([[day, worker(1, ofADay)]])).toEqual([ofADay]);
    expect(counted([[day, worker(1, ofADay)]], day / 2)).toEqual(["doubted"]);
    // The agent says that it was read before the machine was there.
    expect(counted([[day, worker(1, 100)]], 2 * day)).toEqual([100]);
  });
});
