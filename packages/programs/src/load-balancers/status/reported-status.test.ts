import { validateBody } from "@kule/contract/validate";
import { expect, test } from "vitest";
import { type OwnServers, readStatus } from "./read-status.ts";
import { reportedStatus } from "./reported-status.ts";

const boot_id = "0b7f8d6a-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
const names = Array.from({ length: 256 }, (_, n) => `tgt_${n}`);
const listeners = Array.from({ length: 32 }, (_, n) => `lsn_${n}`);
const ours: OwnServers = new Map(listeners.map((id) => [id, new Set(names)]));
const target = (listener: string, server: string, more: object = {}) => ({
  listener,
  server,
  status: "UP",
  check_status: "L4OK",
  check_code: null,
  ...more,
});

function reported(targets: readonly object[], more: object = {}) {
  const status = readStatus(JSON.stringify({ boot_id, targets, ...more }), ours);
  if (status === null) throw new Error("it is no status");
  const report = {
    load_balancer_id: "lb_1",
    slot: 1,
    server_id: "srv_1",
    asked_after_ms: 1,
    seen_after_ms: 1,
    status: reportedStatus(status),
  };
  const checked = validateBody("reportLoadBalancers", { agent_version: "1", reports: [report] } as never);
  expect(checked).toMatchObject({ ok: true });
  return report.status;
}

test("health checks with the same result are one entry of a report", () => {
  const down = { status: "DOWN", check_status: "L4CON", last_check: "Connection refused" };
  const { checks } = reported([
    target("lsn_0", "tgt_1", down),
    target("lsn_0", "tgt_2", down),
    target("lsn_0", "tgt_3"),
    target("lsn_1", "tgt_1"),
    target("lsn_0", "tgt_4"),
  ]);
  expect(
    checks.map(({ listener_id, status, last_check, servers }) => [listener_id, status, last_check, servers]),
  ).toEqual([
    ["lsn_0", "DOWN", "Connection refused", ["tgt_1", "tgt_2"]],
    ["lsn_0", "UP", "", ["tgt_3", "tgt_4"]],
    ["lsn_1", "UP", "", ["tgt_1"]],
  ]);
});

test("a machine that says something else about every target is reported as far as there is room", () => {
  const targets = names.flatMap((name, n) =>
    ["lsn_0", "lsn_1", "lsn_2"].map((id) => target(id, name, { status: "DOWN", last_check: `${id} ${n}` })),
  );
  const { checks, omitted_targets } = reported(targets, { omitted_targets: 8_192 });
  expect([checks.length, omitted_targets]).toEqual([512, 256 + 8_192]);
});

test("everything that a machine can say of itself is in the report", () => {
  const counters = { connections_total: 9, requests_total: 8, errors_total: 3, bytes_in: 7, bytes_out: 6 };
  const rates = { connections: 1, connections_per_second: 2, requests_per_second: 3 };
  const refused = { connections_denied: 4, requests_denied: 5, request_errors: 6 };
  const responses = {
    responses_1xx: 0,
    responses_2xx: 8,
    responses_3xx: 0,
    responses_4xx: 1,
    responses_5xx: null,
  };
  const report = reported([], {
    generation: 7,
    worker_pid: 20,
    worker_started: 30,
    old_workers: 1,
    failed_reloads: 2,
    connections: 3,
    most_connections: 4,
    role: "backup",
    listeners: [{ id: "lsn_0", status: "OPEN", ...counters, ...rates, ...refused, ...responses }],
    former: [{ worker_pid: 19, listener: "lsn_0", ...counters }],
    omitted_listeners: 1,
  });
  expect(report).toEqual({
    boot_id,
    generation: 7,
    worker_pid: 20,
    worker_started: 30,
    old_workers: 1,
    failed_reloads: 2,
    connections: 3,
    most_connections: 4,
    role: "backup",
    listeners: [
      { id: "lsn_0", is_open: true, responses: [0, 8, 0, 1, null], ...counters, ...rates, ...refused },
    ],
    former: [{ worker_pid: 19, listener_id: "lsn_0", ...counters }],
    checks: [],
    omitted_listeners: 1,
    omitted_targets: 0,
  });
});
