import { describe, expect, test } from "vitest";
import { MOST_STATUS_CHARACTERS, readStatus } from "./read-status.ts";

const ours = new Map([
  ["lsn_1", new Set(["tgt_1", "tgt_2.srv_1"])],
  ["lsn_2", new Set(["tgt_1"])],
]);
const boot = { boot_id: "0f64a1d2-7b0c-4a53-9c0e-2f0a54ab9f01" };
const target = {
  listener: "lsn_1",
  server: "tgt_1",
  status: "DOWN",
  check_status: "L4CON",
  check_code: null,
  changed_seconds: 5,
  connections: 0,
  last_check: "Connection refused",
};
const read = (answer: Readonly<Record<string, unknown>>) => {
  const status = readStatus(JSON.stringify({ ...boot, ...answer }), ours);
  if (status === null) throw new Error("it is no status");
  return status;
};

describe("What a load balancer's machine says of itself", () => {
  test("is taken with its listeners, former workers and targets", () => {
    const status = read({
      generation: 7,
      worker_pid: 42,
      worker_started: 1_795_710_654,
      old_workers: 2,
      failed_reloads: 0,
      connections: 3,
      most_connections: 500,
      role: "backup",
      listeners: [{ id: "lsn_1", status: "OPEN", bytes_in: 10, connections: 1, responses_5xx: 4 }],
      former: [{ worker_pid: 41, listener: "lsn_2", bytes_out: 11 }],
      targets: [target],
      omitted_listeners: 0,
      omitted_targets: 9,
    });
    expect(status).toMatchObject({
      bootId: boot.boot_id,
      generation: 7,
      workerPid: 42,
      oldWorkers: 2,
      role: "backup",
      omitted: { listeners: 0, targets: 9 },
      dropped: 0,
    });
    expect(status.listeners).toMatchObject([
      { listenerId: "lsn_1", isOpen: true, bytesIn: 10, responses: [null, null, null, null, 4] },
    ]);
    expect(status.former).toMatchObject([{ workerPid: 41, listenerId: "lsn_2", bytesOut: 11 }]);
    expect(status.targets).toEqual([
      {
        listenerId: "lsn_1",
        server: "tgt_1",
        status: "DOWN",
        checkStatus: "L4CON",
        checkCode: null,
        lastCheck: "Connection refused",
        changedSeconds: 5,
        connections: 0,
      },
    ]);
  });

  test.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["null", "null"],
    ["without a boot", "{}"],
    ["with a boot that is none", JSON.stringify({ boot_id: `${boot.boot_id}\n` })],
    ["too long", `${JSON.stringify(boot)}${" ".repeat(MOST_STATUS_CHARACTERS)}`],
  ])("is nothing when it is %s", (_, text) => {
    expect(readStatus(text, ours)).toBeNull();
  });

  test("about what is not ours is dropped and counted", () => {
    const status = read({
      worker_pid: 42,
      listeners: [{ id: "lsn_9" }, { id: "__proto__" }, { id: "lsn_2" }, null, 7, "lsn_1"],
      former: [
        { worker_pid: 1, listener: "lsn_9" },
        { worker_pid: 42, listener: "lsn_1" },
        { worker_pid: -1, listener: "lsn_1" },
      ],
      targets: [
        { ...target, listener: "lsn_2", server: "tgt_2.srv_1" },
        { ...target, server: "tgt_3" },
        { ...target, listener: "lsn_9" },
        { ...target, server: "constructor" },
      ],
    });
    expect(status.listeners.map(({ listenerId }) => listenerId)).toEqual(["lsn_2"]);
    expect([status.former, status.targets, status.dropped]).toEqual([[], [], 5 + 3 + 4]);
  });

  test("counts once for each listener and target, however often it is said", () => {
    const many = Array.from({ length: 100_000 }, () => 0);
    const status = read({ targets: [target, { ...target, status: "UP" }, ...many] });
    expect(status.targets).toMatchObject([{ server: "tgt_1", status: "DOWN" }]);
    expect(status.dropped).toBe(100_001);
    const workers = Array.from({ length: 50 }, (_, index) => ({ worker_pid: index + 1, listener: "lsn_1" }));
    expect(read({ former: workers })).toMatchObject({ former: { length: 8 }, dropped: 42 });
    expect(read({ listeners: "lsn_1", targets: { length: 5 } })).toMatchObject({ targets: [], dropped: 0 });
  });

  test.each([[-1], [1.5], [Number.MAX_SAFE_INTEGER + 1], [1e300], ["7"], [null], [true], [[7]]])(
    "has no number where it says %j",
    (value) => {
      const status = read({
        generation: value,
        worker_pid: value,
        failed_reloads: value,
        old_workers: value,
        omitted_targets: value,
        listeners: [{ id: "lsn_1", bytes_in: value, connections: value, responses_2xx: value }],
        targets: [{ ...target, check_code: value, changed_seconds: value }],
      });
      expect(status).toMatchObject({
        generation: null,
        workerPid: null,
        failedReloads: null,
        oldWorkers: 0,
        omitted: { targets: 0 },
        listeners: [{ bytesIn: null, connections: null, responses: [null, null, null, null, null] }],
        targets: [{ checkCode: null, changedSeconds: null }],
      });
    },
  );

  test("of huge numbers of what is left out or lingers is no more than there can be", () => {
    const most = Number.MAX_SAFE_INTEGER;
    const status = read({ old_workers: most, omitted_targets: most, omitted_listeners: most });
    expect(status).toMatchObject({ oldWorkers: 1_000, omitted: { listeners: 8_192, targets: 8_192 } });
  });

  test("has no text that is long or not visible", () => {
    const status = read({
      role: "MASTER",
      targets: [{ ...target, status: "D\u0000WN", check_status: "x".repeat(17), last_check: "é" }],
    });
    expect(status.role).toBeNull();
    expect(status.targets).toMatchObject([{ status: "", checkStatus: "", lastCheck: "" }]);
  });
});
