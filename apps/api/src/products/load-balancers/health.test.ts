import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, listenerStatus, wellStatus } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

/** A load balancer with one listener and two targets, and how its machine is reported. */
async function balanced() {
  const lb = await world.active({
    listeners: [{ protocol: "http", port: 80, health_check: { protocol: "http", path: "/up" } }],
    targets: [{ address: "10.20.0.200" }, { address: "10.20.0.201" }],
  });
  const first = async (part: string) =>
    (await must(world.owned.get(`/load-balancers/${lb.id}/${part}`))).items.map(
      ({ id }: { id: string }) => id,
    );
  const [[listener], targets] = [await first("listeners"), await first("targets")];
  const machine = { load_balancer_id: lb.id, slot: 1 as const, server_id: lb.machines[0]?.server_id ?? "" };
  return { lb, listener: listener as string, targets: targets as string[], machine };
}

const check = (listener_id: string, servers: readonly string[], more: object = {}) => ({
  listener_id,
  status: "UP",
  check_status: "L7OK",
  check_code: 200,
  last_check: "",
  servers: [...servers],
  ...more,
});

describe("the health of a load balancer", { timeout: 60_000 }, () => {
  test("is what its machine says of each target at each listener, in our words", async () => {
    const { lb, listener, targets, machine } = await balanced();
    const [well = "", ill = ""] = targets;
    await world.report({
      ...machine,
      asked_after_ms: 900,
      seen_after_ms: 400,
      status: {
        ...wellStatus,
        listeners: [listenerStatus(listener)],
        checks: [
          check(listener, [well]),
          check(listener, [ill], {
            status: "DOWN 1/2",
            check_status: "L7STS",
            check_code: 503,
            last_check: "<script>alert(1)</script>",
          }),
        ],
      },
    });
    const health = await world.health(lb.id);
    expect(health.machines).toMatchObject([
      { slot: 1, state: "serving", role: null, connections: 3, answered_at: expect.any(String) },
    ]);
    expect(health.listeners).toEqual([
      {
        listener_id: listener,
        is_open: true,
        connections: 2,
        connections_per_second: 5,
        requests_per_second: 7,
        responses: [0, 40, 0, 1, 0],
      },
    ]);
    const of = (id: string) => health.targets.find(({ target_id }) => target_id === id);
    expect(of(well)).toMatchObject({ status: "healthy", listeners: [{ last_error: null }] });
    expect(of(ill)).toMatchObject({
      status: "unhealthy",
      listeners: [
        {
          listener_id: listener,
          status: "unhealthy",
          last_error: {
            code: "unexpected_code",
            message: "The target answered 503 instead of 200-399.",
          },
          checked_at: expect.any(String),
        },
      ],
    });
    expect(JSON.stringify(health)).not.toContain("script");
  });

  test("of two machines is that of the active one", async () => {
    const lb = await world.active({
      ha: true,
      listeners: [{ protocol: "tcp", port: 80 }],
      targets: [{ address: "10.20.0.210" }],
    });
    const [listener] = (await must(world.owned.get(`/load-balancers/${lb.id}/listeners`))).items;
    const [target] = (await must(world.owned.get(`/load-balancers/${lb.id}/targets`))).items;
    const seen = (slot: 1 | 2, role: "master" | "backup", more: object) => ({
      load_balancer_id: lb.id,
      slot,
      server_id: lb.machines[slot - 1]?.server_id ?? "",
      seen_after_ms: 0,
      status: { ...wellStatus, role, checks: [check(listener.id, [target.id], more)] },
    });
    await world.report(
      seen(1, "backup", {}),
      seen(2, "master", { status: "DOWN", check_status: "L4CON", last_check: "Connection refused" }),
    );
    const health = await world.health(lb.id);
    expect(health.machines.map(({ role }) => role)).toEqual(["standby", "active"]);
    expect(health.targets).toMatchObject([
      { status: "unhealthy", listeners: [{ last_error: { code: "connection_refused" } }] },
    ]);
    // The active one is cut off: what it said last is not the load balancer's any more.
    await world.missAsks(lb.id, 3, seen(1, "master", {}), {
      ...seen(2, "master", {}),
      seen_after_ms: null,
      status: null,
    });
    const after = await world.health(lb.id);
    expect(after.machines.map(({ state, role }) => [state, role])).toEqual([
      ["serving", "active"],
      ["silent", null],
    ]);
    expect(after.targets).toMatchObject([{ status: "healthy" }]);
  });

  test("counts traffic once, through reloads and repeated reports, by the hour", async () => {
    const { lb, listener, machine } = await balanced();
    const say = (status: object) =>
      world.report({ ...machine, seen_after_ms: 0, status: { ...wellStatus, ...status } });
    const total = async () => {
      const { hours } = await must(world.owned.get(`/load-balancers/${lb.id}/metrics`));
      return hours.reduce((sum: number, each: { requests: number }) => sum + each.requests, 0);
    };
    const errors = async () =>
      (await must(world.owned.get(`/load-balancers/${lb.id}/metrics`))).hours.reduce(
        (sum: number, each: { errors: number }) => sum + each.errors,
        0,
      );
    await say({ listeners: [listenerStatus(listener, { requests_total: 100 })] });
    await say({ listeners: [listenerStatus(listener, { requests_total: 100 })] });
    expect(await total()).toBe(100);
    const former = {
      worker_pid: 100,
      listener_id: listener,
      connections_total: 10,
      requests_total: 130,
      errors_total: 9,
      bytes_in: 1_000,
      bytes_out: 90_000,
    };
    await say({
      worker_pid: 200,
      listeners: [listenerStatus(listener, { requests_total: 5, errors_total: 1 })],
      former: [former, { ...former, listener_id: "lsn_of_somebody", requests_total: 9_999 }],
    });
    expect(await total()).toBe(135);
    expect(await errors()).toBe(10);
    const huge = Number.MAX_SAFE_INTEGER;
    await say({ worker_pid: 300, listeners: [listenerStatus(listener, { requests_total: huge })] });
    await say({ worker_pid: 400, listeners: [listenerStatus(listener, { requests_total: huge })] });
    // More than any machine can carry: traffic-usage.test.ts.
    expect(await total()).toBe(135);
  });

  test("takes nothing from reportLoadBalancers of another region, slot, server or load balancer, and nothing old", async () => {
    const { lb, listener, targets, machine } = await balanced();
    const other = await balanced();
    const away = await world.servers.world.addRegion("ank1");
    const told = {
      ...machine,
      asked_after_ms: 0,
      seen_after_ms: 0,
      status: { ...wellStatus, checks: [check(listener, targets)] },
    };
    const answer = await world.tell({ reports: [told], after: null }, away.agent);
    expect(answer.body).toEqual({ machines: [], next: null, round_seconds: 30 });
    await world.report(
      { ...told, slot: 2 },
      { ...told, server_id: other.machine.server_id },
      { ...told, load_balancer_id: other.lb.id },
      { ...told, server_id: "srv_none", load_balancer_id: "lb_none" },
    );
    expect((await world.health(lb.id)).machines[0]?.answered_at).toBeNull();
    expect((await world.health(other.lb.id)).machines[0]?.answered_at).toBeNull();
    await world.report(told);
    const seen = (await world.health(lb.id)).machines[0]?.answered_at;
    expect(seen).not.toBeNull();
    await world.report({ ...told, asked_after_ms: 60_000, seen_after_ms: 60_000 });
    expect((await world.health(lb.id)).machines[0]?.answered_at).toBe(seen);
    // Of others' targets and listeners it says nothing that is shown.
    await world.report({
      ...told,
      status: {
        ...wellStatus,
        checks: [check(other.listener, other.targets), check(listener, ["tgt_none", "x"])],
      },
    });
    const { targets: shown } = await world.health(lb.id);
    expect(shown.map(({ status }) => status)).toEqual(["unknown", "unknown"]);
  });

  test("a report that is too long, or has no form, is refused with its place", async () => {
    const { machine } = await balanced();
    const many = Array.from({ length: 21 }, () => ({
      ...machine,
      asked_after_ms: 0,
      seen_after_ms: null,
      status: null,
    }));
    expect((await world.tell({ reports: many })).status).toBe(422);
    const { status, body } = await world.tell({ after: "lb_1.9'--" });
    expect([status, body.errors[0].pointer]).toEqual([422, "/after"]);
    expect((await world.tell({}, world.owned)).status).toBe(403);
  });

  test("the region's agent is told all machines, page by page, with what each answers about", async () => {
    const region = world.servers.region;
    const { rows } = await world.servers.owner.query(
      "select count(*)::integer as machines from load_balancer_machine where region = $1",
      [region],
    );
    const before = rows[0].machines;
    for (let more = before; more < 21; more += 1) await world.create();
    await world.settle();
    const { lb, listener, targets } = await balanced();
    const seen: { load_balancer_id: string; listener_ids: string[]; servers: string[]; vmid: number }[] = [];
    let after: string | null = null;
    do {
      const answer: Awaited<ReturnType<typeof must>> = await must(world.tell({ after }));
      expect(answer.machines.length).toBeLessThanOrEqual(20);
      seen.push(...answer.machines);
      after = answer.next;
    } while (after !== null);
    expect(new Set(seen.map(({ load_balancer_id }) => load_balancer_id)).size).toBeGreaterThan(20);
    const own = seen.find(({ load_balancer_id }) => load_balancer_id === lb.id);
    expect(own?.listener_ids).toEqual([listener]);
    expect(own?.servers.toSorted()).toEqual(targets.toSorted());
    expect(own?.vmid).toBeGreaterThan(19_999);
  });
});
