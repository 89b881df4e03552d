import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { completeHealthCheck } from "./limits.ts";
import {
  checkErrorMessage,
  type SeenServer,
  shownHealth,
  type TargetHealth,
  targetHealth,
} from "./target-health.ts";
import {
  type Counted,
  countUsage,
  type ListenerCounters,
  maxRememberedWorkers,
  type WorkerCounters,
} from "./usage.ts";

describe("a target's health", () => {
  const seen = (status: string, checkStatus: string, more: Partial<SeenServer> = {}): SeenServer => ({
    status,
    checkStatus,
    checkCode: null,
    lastCheck: "",
    ...more,
  });
  const fresh = { isDrained: false, before: null };
  test.each([
    ["UP", "L7OK", "healthy", null],
    ["UP", "* L4OK", "healthy", null],
    ["UP 1/2", "L4TOUT", "healthy", "connection_timed_out"],
    ["UP", "INI", "unknown", null],
    ["UP", "", "unknown", null],
    ["DOWN", "INI", "unknown", null],
    ["DOWN 1/3", "L4OK", "unknown", null],
    ["DOWN", "L4CON", "unhealthy", "unreachable"],
    ["DOWN", "L4TOUT", "unhealthy", "connection_timed_out"],
    ["DOWN", "L7TOUT", "unhealthy", "no_answer"],
    ["DOWN", "L7RSP", "unhealthy", "invalid_answer"],
    ["DOWN", "SOCKERR", "unhealthy", "other"],
    ["DRAIN", "L4OK", "draining", null],
    ["MAINT", "L4OK", "unknown", null],
    ["no check", "", "unknown", null],
    ["UPSTREAM", "L4OK", "unknown", null],
    ["<script>", "\u0000", "unknown", null],
  ])("of %s with %s is %s, %s", (status, checkStatus, expected, code) => {
    const health = targetHealth(seen(status, checkStatus), fresh);
    expect([health.status, health.lastError?.code ?? null]).toEqual([expected, code]);
  });

  test("says the code that was seen, and only one that HTTP has", () => {
    const answered = (checkCode: number | null) =>
      targetHealth(seen("DOWN", "L7STS", { checkCode }), fresh).lastError;
    expect(answered(503)).toEqual({ code: "unexpected_code", seenCode: 503 });
    for (const code of [null, 0, 99_999, 200.5, Number.NaN])
      expect(answered(code)).toEqual({ code: "invalid_answer", seenCode: null });
  });

  test("tells a refused connection from one that found no way", () => {
    const refused = seen("DOWN", "L4CON", { lastCheck: "Connection refused at step 1 of tcp-check" });
    expect(targetHealth(refused, fresh).lastError?.code).toBe("connection_refused");
  });

  test("stays unhealthy until there are enough successes", () => {
    const coming = seen("DOWN 2/3", "L4OK");
    expect(targetHealth(coming, { isDrained: false, before: "unhealthy" })).toEqual({
      status: "unhealthy",
      lastError: null,
    });
  });

  test("is draining when that is wanted, with its last error", () => {
    expect(targetHealth(seen("DOWN", "L7TOUT"), { isDrained: true, before: null })).toEqual({
      status: "draining",
      lastError: { code: "no_answer", seenCode: null },
    });
  });

  test("of two machines is what the one with the address says", () => {
    const healthy = { status: "healthy", lastError: null } as const;
    const unknown = { status: "unknown", lastError: null } as const;
    const unhealthy = { status: "unhealthy", lastError: { code: "other", seenCode: null } } as const;
    const report = (role: "active" | "standby" | null, health: TargetHealth) => ({ role, health });
    expect(shownHealth([report("standby", unhealthy), report("active", healthy)])).toEqual(healthy);
    expect(shownHealth([report("standby", healthy), report("active", unknown)])).toEqual(unknown);
    expect(shownHealth([report(null, unknown), report(null, unhealthy)])).toEqual(unhealthy);
    expect(shownHealth([])).toBe(null);
  });

  test("is told in our own words, whatever a machine says", () => {
    const check = completeHealthCheck({ protocol: "http" });
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (status, checkStatus, lastCheck) => {
        const { lastError } = targetHealth({ status, checkStatus, checkCode: 500, lastCheck }, fresh);
        if (lastError === null) return;
        expect(checkErrorMessage(lastError, check, 80)).toMatch(/^[A-Z][A-Za-z0-9 ',-]+\.$/);
      }),
    );
    expect(checkErrorMessage({ code: "unexpected_code", seenCode: 503 }, check, 80)).toBe(
      "The target answered 503 instead of 200-399.",
    );
    expect(checkErrorMessage({ code: "connection_refused", seenCode: null }, check, 80)).toBe(
      "The target refused the connection at port 80.",
    );
  });
});

describe("usage", () => {
  const ids = new Set(["lsn_a"]);
  const counters = (bytesIn: number): ListenerCounters => ({
    connections: bytesIn,
    requests: 0,
    errors: bytesIn,
    bytesIn,
    bytesOut: 0,
  });
  const worker = (bootId: string, pid: number, bytesIn: number): WorkerCounters => ({
    bootId,
    pid,
    listeners: new Map([["lsn_a", counters(bytesIn)]]),
  });
  const inTurn = (readings: readonly { readAtMs: number; workers: readonly WorkerCounters[] }[]) => {
    let counted: Counted | null = null;
    return readings.map((reading) => {
      const result = countUsage(counted, reading, ids, 0);
      counted = result.counted;
      const { bytesIn = 0, errors = 0 } = result.added.get("lsn_a") ?? {};
      expect(errors).toBe(bytesIn);
      return bytesIn;
    });
  };

  test("is what is more than before, and all of a new worker or boot", () => {
    expect(
      inTurn([
        { readAtMs: 1, workers: [worker("b1", 10, 100)] },
        { readAtMs: 2, workers: [worker("b1", 10, 150)] },
        { readAtMs: 3, workers: [worker("b1", 11, 5)] },
        { readAtMs: 4, workers: [worker("b2", 11, 7)] },
      ]),
    ).toEqual([100, 50, 5, 7]);
  });

  test("is not counted again when a report is repeated or comes late", () => {
    const first = { readAtMs: 2, workers: [worker("b1", 10, 100)] };
    expect(inTurn([first, first, { readAtMs: 1, workers: [worker("b1", 10, 90)] }])).toEqual([100, 0, 0]);
  });

  test("is not counted again when a late report is of a worker that is forgotten", () => {
    const newer = Array.from({ length: maxRememberedWorkers }, (_, index) => ({
      readAtMs: 2 + index,
      workers: [worker("b1", 11 + index, 1)],
    }));
    const first = { readAtMs: 1, workers: [worker("b1", 10, 100)] };
    expect(inTurn([first, ...newer, first]).at(-1)).toBe(0);
  });

  test("counts the worker before the reload on, while it can be read", () => {
    expect(
      inTurn([
        { readAtMs: 1, workers: [worker("b1", 10, 100)] },
        { readAtMs: 2, workers: [worker("b1", 11, 1), worker("b1", 10, 130)] },
        { readAtMs: 3, workers: [worker("b1", 11, 2)] },
      ]),
    ).toEqual([100, 31, 1]);
  });

  test("is nothing for listeners of others and for numbers that cannot be", () => {
    for (const value of [-1, Number.NaN, 1e300, 0.5]) {
      const { added } = countUsage(null, { readAtMs: 1, workers: [worker("b", 1, value)] }, ids, 0);
      expect(added.size).toBe(0);
    }
    const other = { readAtMs: 1, workers: [worker("b", 1, 5)] };
    expect(countUsage(null, other, new Set(["lsn_other"]), 0).added.size).toBe(0);
  });

  test("adds up to what each worker had at most, never less than zero at a time", () => {
    const anyReading = fc.array(
      fc.record({
        workers: fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(1_000)), {
          selector: ([pid]) => pid,
          maxLength: 3,
        }),
      }),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(anyReading, (readings) => {
        const added = inTurn(
          readings.map(({ workers }, index) => ({
            readAtMs: index,
            workers: workers.map(([pid, bytes]) => worker("b", pid, bytes)),
          })),
        );
        const highest = new Map<number, number>();
        for (const [pid, bytes] of readings.flatMap(({ workers }) => workers))
          highest.set(pid, Math.max(highest.get(pid) ?? 0, bytes));
        expect(Math.min(0, ...added)).toBe(0);
        expect(added.reduce((sum, each) => sum + each, 0)).toBe(
          [...highest.values()].reduce((sum, each) => sum + each, 0),
        );
      }),
    );
  });

  test("remembers no more workers than can be there", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => worker("b", index, 1));
    const { counted, added } = countUsage(null, { readAtMs: 1, workers: many }, ids, 0);
    expect(counted.workers).toHaveLength(maxRememberedWorkers);
    expect(added.get("lsn_a")?.bytesIn).toBe(8);
  });
});
