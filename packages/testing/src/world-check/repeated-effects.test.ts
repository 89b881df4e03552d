import type { JournalEntry } from "@kule/lab/journal";
import { expect, test } from "vitest";
import { type JobRun, repeatedEffects } from "./repeated-effects.ts";

const run = (id: string, started_at: number, vmid = 100): JobRun => ({
  id,
  kind: "ServerRestore",
  region: "r1",
  vmid,
  started_at,
});
let seq = 0;
const entry = (op: string, at: number, detail?: Record<string, unknown>, vmid = 100): JournalEntry => {
  seq += 1;
  return { seq, at, op, vmid, ...(detail === undefined ? {} : { detail }) };
};
const found = (journal: JournalEntry[], runs: JobRun[]) =>
  repeatedEffects(journal, runs).map(({ invariant, subject }) => `${invariant} ${subject}`);

test("an effect that one job has twice on a VM is found", () => {
  expect(found([entry("vm-started", 20), entry("vm-started", 30)], [run("job_a", 10)])).toEqual([
    "I8 job_a (ServerRestore), VM 100: vm-started, 2 times",
  ]);
});

test("the same effect of two jobs is none", () => {
  const runs = [run("job_a", 10), run("job_b", 25)];
  expect(found([entry("vm-started", 20), entry("vm-started", 30)], runs)).toEqual([]);
});

test("the same effect on two VMs is none", () => {
  const journal = [entry("clone-finished", 20), entry("clone-finished", 21, {}, 101)];
  expect(found(journal, [run("job_a", 10), run("job_a", 10, 101)])).toEqual([]);
});

test("two changes of the config are two effects when they set something else", () => {
  const journal = [
    entry("config-changed", 20, { set: ["tags"], deleted: [] }),
    entry("config-changed", 21, { set: ["cores"], deleted: [] }),
  ];
  expect(found(journal, [run("job_a", 10)])).toEqual([]);
  expect(found([...journal, ...journal], [run("job_a", 10)])).toHaveLength(2);
  const [closed, open] = ["link_down=1", "link_down=0"].map((net1, index) =>
    entry("config-changed", 30 + index, { set: ["net1"], deleted: [], devices: { net1 } }),
  );
  if (closed === undefined || open === undefined) throw new Error("two were made");
  expect(found([closed, open], [run("job_a", 10)])).toEqual([]);
  expect(found([closed, open, closed], [run("job_a", 10)])).toHaveLength(1);
});

test("a reverted action may be repeated", () => {
  const journal = [entry("vm-started", 20), entry("world-powered-off", 21), entry("vm-started", 22)];
  expect(found(journal, [run("job_a", 10)])).toEqual([]);
});

test("a VM on a node that failed may be started again, and once", () => {
  const down: JournalEntry = { seq: 0, at: 21, op: "world-node-down", detail: { guests: [100] } };
  const journal = [entry("vm-started", 20), down, entry("vm-started", 22)];
  expect(found(journal, [run("job_a", 10)])).toEqual([]);
  expect(found([...journal, entry("vm-started", 23)], [run("job_a", 10)])).toHaveLength(1);
  const elsewhere = { ...down, detail: { guests: [101] } };
  expect(
    found([entry("vm-started", 20), elsewhere, entry("vm-started", 22)], [run("job_a", 10)]),
  ).toHaveLength(1);
});

test("findings stay when something is changed afterwards", () => {
  const journal = [entry("vm-started", 20), entry("vm-started", 21), entry("world-powered-off", 22)];
  expect(found(journal, [run("job_a", 10)])).toHaveLength(1);
});

test("a job that a task has lied to may start over, and once a lie", () => {
  const over = [entry("vm-stopped", 23), entry("vm-started", 24)];
  const journal = [entry("world-task-did-nothing", 20), entry("vm-started", 22), ...over];
  expect(found(journal, [run("job_a", 10)])).toEqual([]);
  expect(found([...journal, ...over], [run("job_a", 10)])).toEqual([
    "I8 job_a (ServerRestore), VM 100: vm-started, 3 times",
  ]);
  expect(found(journal.slice(1), [run("job_a", 10)])).toHaveLength(1);
  // For another job it proves nothing.
  expect(found(journal, [run("job_a", 10), run("job_b", 22)])).toHaveLength(1);
});
