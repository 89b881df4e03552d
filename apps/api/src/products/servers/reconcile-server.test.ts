import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { type SeenVm, seenAs, TestScanner } from "../../testing/test-scanner.ts";

let world: ServerWorld;
let operator: ApiCaller;
let testScanner: TestScanner;
beforeAll(async () => {
  world = await ServerWorld.open();
  operator = world.world.operator.with({ "Kule-Organisation": world.organisation.id });
  testScanner = new TestScanner(world.agent.api);
});
afterAll(() => world?.close());

/** VMs of earlier tests that are left in the region. */
const others: SeenVm[] = [];
let made: SeenVm[] = [];
beforeEach(async () => {
  others.push(...made);
  made = [];
});

async function running(): Promise<{ id: string; vm: SeenVm }> {
  const { server } = await world.create();
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  const vm = seenAs(job);
  made.push(vm);
  return { id: server.id, vm };
}

const look = (vms: readonly SeenVm[]) => testScanner.look([...others, ...vms]);
const drift = async (id: string): Promise<{ differences: { field: string }[] }[]> =>
  (await world.world.operator.get(`/operator/drift?server_id=${id}`)).body.items;

test("manual changes of a VM's interfaces and pool are reported, and one operation reconciles them", async () => {
  const { id, vm } = await running();
  const [first] = vm.interfaces ?? [];
  const changed: SeenVm = {
    ...vm,
    pool: "theirs",
    interfaces: [{ ...first, position: 0, mac: first?.mac ?? "", link_down: true, rate: "5", trunks: "7;8" }],
  };
  await look([changed]);
  await look([changed]);
  const told = (await drift(id))[0];
  expect(told?.differences.map(({ field }) => field).sort()).toEqual(
    ["interface 0 link", "interface 0 rate", "interface 0 trunks", "pool"].sort(),
  );
  const path = `/servers/${id}/reconcile`;
  expect((await world.owned.post(path)).body).toMatchObject({
    code: "forbidden",
    required: ["operator:servers"],
  });
  const answer = await operator.post(path);
  expect([answer.status, answer.body.job.kind, answer.body.server.status]).toEqual([
    202,
    "ServerReconcile",
    "running",
  ]);
  const twice = await operator.post(path);
  expect([twice.status, twice.body.precondition.name]).toEqual([409, "server_in_right_state"]);
  const job = await world.agent.take("ServerReconcile");
  expect(job.payload).toMatchObject({
    pool: `kule-${world.organisation.id}`,
    tags: ["kule", world.organisation.id, id],
    interfaces: [{ mac: first?.mac?.toLowerCase() }],
    public_interface: null,
    filter: { id: "none" },
  });
  await world.agent.succeed(job, "on");
  expect(await world.server(id)).toMatchObject({ status: "running", status_reason: null, job_id: null });
  await look([vm]);
  expect(await drift(id)).toEqual([]);
});

test("of an agent that reports neither pools nor their prefix, no pool is a difference", async () => {
  const { id, vm } = await running();
  const { pool: _, ...silent } = vm;
  await look([silent]);
  await look([silent]);
  expect(await drift(id)).toEqual([]);
});

test("what cannot be reconciled is refused before there is a job, with a fix", async () => {
  const { id, vm } = await running();
  const refused = async () => {
    const { status, body } = await operator.post(`/servers/${id}/reconcile`);
    return [status, body.code, body.precondition?.name, body.precondition?.fix];
  };
  for (let looks = 0; looks < 2; looks += 1) await look([{ ...vm, vcpu: 9 }]);
  expect(await refused()).toEqual([
    409,
    "invalid_state",
    "drift_can_be_put_right",
    `POST /servers/${id}/resize changes the VM's size`,
  ]);
  for (let looks = 0; looks < 2; looks += 1) await look([]);
  expect(await refused()).toEqual([
    409,
    "invalid_state",
    "server_has_its_vm",
    "Restore the VM at the hypervisor, or delete the server",
  ]);
  await world.rows(
    "update server set locked_at = now(), locked_by = '{}', locked_reason = 'no' where id = $1",
    [id],
  );
  expect((await refused()).slice(1, 3)).toEqual(["locked", "server_not_locked"]);
  await world.rows(
    "update server set locked_at = null, locked_by = null, locked_reason = null where id = $1",
    [id],
  );
  await world.owned.delete(`/servers/${id}`);
  expect((await refused()).slice(1, 3)).toEqual(["resource_deleting", "server_not_deleting"]);
  await world.agent.work();
  made = [];
});

test("a VM that the agent cannot see any more is reported, and refused with the command that restores access", async () => {
  const { id, vm } = await running();
  for (let looks = 0; looks < 2; looks += 1) {
    const { pass, look_for } = await testScanner.begin();
    if (looks === 1) expect(look_for).toContain(vm.vmid);
    const hidden = [{ vmid: vm.vmid, seen_after_ms: 0 }];
    await testScanner.batch(pass ?? 0, 0, { vms: others, hidden, end: { complete: true } });
  }
  expect((await drift(id)).map(({ differences }) => differences[0]?.field)).toEqual(["visibility"]);
  const { status, body } = await operator.post(`/servers/${id}/reconcile`);
  expect([status, body.precondition.name]).toEqual([409, "server_has_its_vm"]);
  expect(body.precondition.fix).toContain("pveum pool modify");
  expect((await world.server(id)).status).toBe("running");
  await look([vm]);
  expect(await drift(id)).toEqual([]);
});

test("a job that could not reconcile a VM reports it, and may be retried, or cancelled while it waits", async () => {
  const { id, vm } = await running();
  const { body } = await operator.post(`/servers/${id}/reconcile`);
  expect((await operator.post(`/jobs/${body.job.id}/cancel`)).status).toBe(202);
  const again = await operator.post(`/servers/${id}/reconcile`);
  await world.agent.fail(await world.agent.take("ServerReconcile"), "hypervisor_refused");
  expect(await world.server(id)).toMatchObject({
    status: "running",
    status_reason: { code: "reconcile_failed" },
  });
  expect((await operator.post(`/jobs/${again.body.job.id}/retry`)).status).toBe(202);
  await world.agent.succeed(await world.agent.take("ServerReconcile"), "on");
  expect(await world.server(id)).toMatchObject({ status: "running", status_reason: null });
  await look([vm]);
  expect(await drift(id)).toEqual([]);
});
