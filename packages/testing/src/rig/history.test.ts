import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { History, readHistory } from "./history.ts";
import { sequentialViolations, setFull, totalQueue, uniqueIds } from "./history-checkers.ts";

/** "p1 invoke enqueue 1": process, type, operation, value; a list in brackets is one. */
function history(...lines: readonly string[]) {
  return lines.map((line, index) => {
    const [process = "", type = "", operation = "", text = ""] = line.split(" ");
    const value = text.startsWith("[") ? JSON.parse(text) : text;
    return { index, process, type: type as "ok", operation, key: null, value, atMs: index };
  });
}

describe("a recorded history", () => {
  test("is in its file as it is in memory", () => {
    const file = join(mkdtempSync(join(tmpdir(), "kule-history-")), "history.jsonl");
    let now = 0;
    const recorded = new History({ file, nowMs: () => ++now });
    const open = recorded.invoke({ process: "a", operation: "enqueue", value: 1 });
    recorded.effect({ process: "db", operation: "dequeue", key: "srv_1", value: { vmid: 7 } });
    open.info("no answer");
    expect(readHistory(file)).toEqual(recorded.events);
    expect(recorded.events.map(({ type, atMs }) => [type, atMs])).toEqual([
      ["invoke", 1],
      ["ok", 2],
      ["info", 3],
    ]);
  });

  test("lets an operation end once", () => {
    const open = new History().invoke({ process: "a", operation: "read", value: null });
    open.ok([]);
    expect(() => open.fail("again")).toThrow("has ended already");
  });
});

describe("total-queue", () => {
  test("finds nothing in a history where everything was returned once, known or not", () => {
    const found = totalQueue(
      history(
        "a invoke enqueue 1",
        "a ok enqueue 1",
        "b invoke enqueue 2",
        "b info enqueue timeout",
        "c invoke enqueue 3",
        "c fail enqueue 3",
        "d ok dequeue 2",
        "d ok dequeue 1",
      ).map((event) => (event.value === "timeout" ? { ...event, value: "2" } : event)),
    );
    expect(found).toMatchObject({ attempted: 3, acknowledged: 1, lost: [], unexpected: [], duplicated: [] });
    expect(found.recovered).toEqual(["2"]);
  });

  test.each([
    ["lost", ["a invoke enqueue 1", "a ok enqueue 1"], { lost: ["1"] }],
    ["unexpected", ["d ok dequeue 9"], { unexpected: ["9"] }],
    [
      "refused, and there all the same",
      ["a invoke enqueue 1", "a fail enqueue 1", "d ok dequeue 1"],
      { unexpected: ["1"] },
    ],
    [
      "duplicated",
      ["a invoke enqueue 1", "a ok enqueue 1", "d ok dequeue 1", "d ok dequeue 1"],
      { duplicated: ["1"] },
    ],
  ])("finds what was %s", (_, lines, expected) => {
    expect(totalQueue(history(...lines))).toMatchObject(expected);
  });
});

describe("unique-ids", () => {
  test("finds an identifier that was assigned twice, and no other", () => {
    expect(
      uniqueIds(
        history("a ok generate 20001", "b ok generate 20002", "c info generate 20002", "d ok generate 20001"),
      ),
    ).toEqual({ given: 3, duplicated: ["20001"] });
  });
});

describe("set-full", () => {
  const added = ["a invoke add 1", "a ok add 1", "b invoke add 2", "b info add 2"];
  test("finds nothing when the acknowledged are read and the unknown are or are not", () => {
    for (const last of ["[1]", "[1,2]"])
      expect(setFull(history(...added, "r invoke read", `r ok read ${last}`))).toEqual({
        added: 2,
        lost: [],
        unexpected: [],
        duplicated: [],
        stale: [],
      });
  });

  test.each([
    ["never came", ["r invoke read", "r ok read []"], { lost: ["1"] }],
    [
      "was seen and went away",
      ["r invoke read", "r ok read [1,2]", "r invoke read", "r ok read [1]"],
      { lost: ["2"] },
    ],
    [
      "was away for a while",
      ["r invoke read", "r ok read []", "r invoke read", "r ok read [1]"],
      { stale: ["1"] },
    ],
    ["was never added", ["r invoke read", "r ok read [1,3]"], { unexpected: ["3"] }],
    ["is there twice", ["r invoke read", "r ok read [1,1]"], { duplicated: ["1"] }],
  ])("finds an element that %s", (_, lines, expected) => {
    expect(setFull(history(...added, ...lines))).toMatchObject(expected);
  });

  test("does not blame a read that began before the acknowledgement", () => {
    const overlapping = [
      "r invoke read",
      "a invoke add 1",
      "a ok add 1",
      "r ok read []",
      "q invoke read",
      "q ok read [1]",
    ];
    expect(setFull(history(...overlapping))).toMatchObject({ lost: [], stale: [] });
  });

  test("finds nothing in a history without a last read", () => {
    expect(() => setFull(history("r invoke read", "r ok read []", ...added))).toThrow("no read after");
  });
});

describe("the sequential check", () => {
  const states = (...lines: readonly string[]) => {
    const recorded = new History();
    for (const line of lines) {
      const [key = "", value] = line.split(" ");
      recorded.effect({ process: "db", operation: "becomes", key, value });
    }
    return sequentialViolations<string>(recorded.events, {
      initial: "none",
      next: (state, { value }) => {
        const isRight = { none: ["queued"], queued: ["running"], running: ["done"] }[state]?.includes(
          `${value}`,
        );
        return isRight ? { state: `${value}` } : { wrong: `${value} after ${state}` };
      },
    });
  };
  test("checks each resource separately", () => {
    expect(states("a queued", "b queued", "a running", "b running", "b done", "a done")).toEqual([]);
  });
  test("names the first step that cannot be", () => {
    expect(states("a queued", "b queued", "b running", "b running", "a done", "a running")).toEqual([
      "b: running after running",
      "a: done after queued",
    ]);
  });
});
