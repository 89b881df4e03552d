import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

const pointers = (body: { errors: { pointer: string; code: string }[] }) =>
  body.errors.map(({ pointer, code }) => `${pointer} ${code}`);

describe("a load balancer", { timeout: 60_000 }, () => {
  test("runs on a server that it manages, and serves once that is made and has its configuration", async () => {
    const answer = await world.post({ listeners: [{ protocol: "http", port: 80, target_port: 8080 }] });
    const { load_balancer, job } = answer.body;
    expect(answer.status).toBe(202);
    expect(answer.headers.get("location")).toBe(`/api/v1/load-balancers/${load_balancer.id}`);
    expect(load_balancer).toMatchObject({
      status: "provisioning",
      network_id: world.network,
      ha: false,
      package: "s",
      listeners: 1,
      targets: 0,
      public_ip: null,
      observed_generation: 0,
    });
    const [machine] = load_balancer.machines;
    expect(job).toMatchObject({ kind: "ServerCreate", resource: { id: machine.server_id } });
    expect(await world.servers.server(machine.server_id)).toMatchObject({
      name: `${load_balancer.name}-1`,
      managed_by: { type: "load_balancer", id: load_balancer.id, name: load_balancer.name },
      image: { slug: "kule-lb" },
    });
    const [payload, ...more] = await world.settle();
    expect(more).toEqual([]);
    expect(payload).toMatchObject({
      load_balancer: { id: load_balancer.id },
      algorithm: "round_robin",
      listeners: [{ protocol: "http", port: 80, target_port: 8080, health_check: { protocol: "tcp" } }],
      targets: [],
      high_availability: null,
      machines: [{ slot: 1, server_id: machine.server_id, address: machine.private_ip, has_state: false }],
    });
    const now = await world.get(load_balancer.id);
    expect(now).toMatchObject({ status: "active", status_reason: null, job_id: null });
    expect(now.observed_generation).toBe(now.generation);
    expect(await world.violations()).toEqual([]);
  });

  test("on two servers has an address that either can have, and that no server is ever given", async () => {
    const lb = await world.create({ ha: true });
    expect(lb.machines.map(({ slot }) => slot)).toEqual([1, 2]);
    const creations: { interfaces: { address: string; additional_addresses?: string[] }[] }[] = [];
    for (;;) {
      const job = await world.servers.agent.claim();
      if (job === null) break;
      if (job.payload.kind === "ServerCreate") creations.push(job.payload);
      await world.servers.agent.succeed(job);
      if (creations.length === 2) break;
    }
    expect(creations.map(({ interfaces: [first] }) => first?.additional_addresses)).toEqual([
      [lb.private_ip],
      [lb.private_ip],
    ]);
    const payload = (await world.settle()).at(-1);
    const [one, other] = payload?.machines ?? [];
    expect(payload?.high_availability).toMatchObject({ virtual_address: lb.private_ip, vrid: 1 });
    expect([one?.peer_address, other?.peer_address]).toEqual([other?.address, one?.address]);
    expect((await world.get(lb.id)).status).toBe("active");
    const second = await world.create({ ha: true });
    const rows = await world.servers.rows("select vrid from load_balancer where id = $1", [second.id]);
    expect(rows).toEqual([{ vrid: 2 }]);
    const named = await world.owned.post(
      "/servers",
      world.servers.body({ subnet_id: world.subnet, private_ip: lb.private_ip }),
    );
    expect(named.body.code).toBe("address_in_use");
    await world.settle();
    expect(await world.violations()).toEqual([]);
  });

  test("with a public address brings it to its server", async () => {
    const lb = await world.create({ public_ip: "auto" });
    expect(lb.public_ip).toMatchObject({ address: expect.stringMatching(/^203\.0\.113\./) });
    await world.settle();
    expect((await world.get(lb.id)).status).toBe("active");
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect((await world.owned.get(`/public-ips/${lb.public_ip?.id}`)).status).toBe(404);
  });

  test("keeps a public address that was named, also when it is deleted", async () => {
    const { public_ip: ip } = await must(
      world.owned.post("/public-ips", { region: world.servers.region, version: 4 }),
    ).then((body) => ({ public_ip: body.public_ip ?? body }));
    const lb = await world.active({ public_ip: ip.id });
    expect(lb.public_ip?.id).toBe(ip.id);
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect((await world.owned.get(`/public-ips/${ip.id}`)).status).toBe(200);
    expect(await world.violations()).toEqual([]);
  });

  test("says all that is wrong with a create at once, in place", async () => {
    const { status, body } = await world.post({
      package: "huge",
      public_ip: "ip_none",
      listeners: [
        { protocol: "udp", port: 53 },
        { protocol: "https", port: 443 },
        { protocol: "tcp", port: 443, health_check: { timeout_seconds: 10 } },
        { protocol: "http", port: 8080, sticky: { cookie_name: "a b" }, allowed_cidrs: ["10.0.0.1/8"] },
      ],
      targets: [
        {},
        { server_id: "srv_none" },
        { address: "10.99.0.1" },
        { label_selector: "role=", weight: 999 },
      ],
    });
    expect(status).toBe(422);
    expect(pointers(body)).toEqual(
      expect.arrayContaining([
        "/package not_one_of",
        "/public_ip not_found",
        "/listeners/0/protocol not_one_of",
        "/listeners/0/port out_of_range",
        "/listeners/1/certificate_ids required",
        "/listeners/2/port duplicate",
        "/listeners/2/health_check/timeout_seconds conflicts_with",
        "/listeners/3/sticky/cookie_name invalid_format",
        "/listeners/3/allowed_cidrs/0 invalid_format",
        "/targets/0/server_id conflicts_with",
        "/targets/1/server_id not_found",
        "/targets/2/address conflicts_with",
        "/targets/3/weight out_of_range",
      ]),
    );
  });

  test("with dry_run says what would be, and writes nothing", async () => {
    const body = world.body();
    const { status, body: answer } = await world.owned.post("/load-balancers?dry_run=true", body);
    expect([status, answer.would.job_kind, answer.would.load_balancer.name]).toEqual([
      200,
      "ServerCreate",
      body.name,
    ]);
    expect((await world.owned.get(`/load-balancers?name=${body.name}`)).body.items).toEqual([]);
    await must(world.owned.post("/load-balancers", body));
    const again = await world.owned.post("/load-balancers?dry_run=true", body);
    expect(again.body.blockers).toMatchObject([{ name: "load_balancer_name_free" }]);
    await world.settle();
  });

  test("is created once for an Idempotency-Key", async () => {
    const keyed = world.owned.with({ "Idempotency-Key": "front" });
    const body = world.body();
    const [one, other] = [
      await keyed.post("/load-balancers", body),
      await keyed.post("/load-balancers", body),
    ];
    expect(other.body.load_balancer.id).toBe(one.body.load_balancer.id);
    expect((await world.owned.post("/load-balancers", body)).body.code).toBe("name_taken");
    await world.settle();
  });

  test("counts in its quota and in those of its servers' sizes, but not as a server", async () => {
    const { organisation, world: api } = world.servers;
    const limit = (limits: object) =>
      api.operator.put(`/organisations/${organisation.id}/quotas`, { limits });
    const used = async (name: string) =>
      (await must(world.owned.get("/quotas"))).items.find((each: { name: string }) => each.name === name)
        .used;
    const [balancers, servers, vcpu] = [
      await used("load_balancers"),
      await used("servers"),
      await used("vcpu"),
    ];
    const lb = await world.active({ ha: true });
    expect(await used("load_balancers")).toBe(balancers + 1);
    expect(await used("servers")).toBe(servers);
    expect(await used("vcpu")).toBe(vcpu + 2);
    await limit({ load_balancers: balancers + 1 });
    expect((await world.post()).body.precondition).toMatchObject({ name: "quota_load_balancers" });
    await limit({ load_balancers: null });
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
    expect(await used("load_balancers")).toBe(balancers);
  });

  test("is found by its name, label, region and a search, in the order asked for", async () => {
    const lb = await world.create({ name: "findable-front", labels: { role: "edge" } });
    for (const filter of [
      "name=findable-front",
      "label_selector=role=edge",
      `region=${world.servers.region}`,
      "q=findable",
      "sort=name",
      "sort=-region",
    ]) {
      const { items } = await must(world.owned.get(`/load-balancers?limit=200&${filter}`));
      expect(items.map(({ id }: { id: string }) => id)).toContain(lb.id);
    }
    expect((await must(world.owned.get("/load-balancers?name=nothing"))).items).toEqual([]);
    await world.settle();
  });

  test("has no name, also not later, after which its servers would be named like a date or a number", async () => {
    const { id } = await world.create();
    for (const name of ["2026-11", "12e"]) {
      const [created, renamed] = [
        await world.post({ name }),
        await world.owned.patch(`/load-balancers/${id}`, { name }),
      ];
      for (const { status, body } of [created, renamed]) {
        expect(status).toBe(422);
        expect(pointers(body)).toEqual(["/name invalid_format"]);
      }
    }
    await world.settle();
  });

  test("is renamed with its servers' owner, and at once; a stale If-Match changes nothing", async () => {
    const lb = await world.active();
    const changed = await world.owned.patch(`/load-balancers/${lb.id}`, {
      name: "renamed-front",
      labels: { tier: "web" },
    });
    expect([changed.status, changed.body.job]).toEqual([200, null]);
    expect(changed.body.load_balancer).toMatchObject({
      status: "active",
      generation: lb.generation + 1,
      observed_generation: lb.generation + 1,
    });
    const server = await world.servers.server(lb.machines[0]?.server_id ?? "");
    expect(server.managed_by.name).toBe("renamed-front");
    const stale = world.owned.with({ "If-Match": `"g${lb.generation}"` });
    expect((await stale.patch(`/load-balancers/${lb.id}`, { description: "x" })).status).toBe(412);
    expect((await stale.delete(`/load-balancers/${lb.id}`)).status).toBe(412);
  });

  test("edits while a change is on its way wait for one job, which brings all of them", async () => {
    const lb = await world.active();
    const first = await must(
      world.owned.post(`/load-balancers/${lb.id}/listeners`, { protocol: "tcp", port: 1001 }),
    );
    const second = await must(
      world.owned.post(`/load-balancers/${lb.id}/listeners`, { protocol: "tcp", port: 1002 }),
    );
    expect(second.job.id).toBe(first.job.id);
    const running = await world.servers.agent.take("LoadBalancerApply");
    expect(running.payload.listeners.map(({ port }) => port)).toEqual([1001, 1002]);
    const third = await must(
      world.owned.patch(`/load-balancers/${lb.id}`, { algorithm: "least_connections" }),
    );
    expect(third.job.id).not.toBe(first.job.id);
    expect(third.load_balancer.status).toBe("updating");
    await world.servers.agent.end(running, { status: "succeeded" });
    expect((await world.get(lb.id)).status).toBe("updating");
    const [payload, ...more] = await world.settle();
    expect([payload?.algorithm, payload?.machines[0]?.has_state, more.length]).toEqual([
      "least_connections",
      true,
      0,
    ]);
    expect((await world.get(lb.id)).status).toBe("active");
  });

  test("whose change is refused by a machine says so, and serves what it had", async () => {
    const lb = await world.active();
    await must(world.owned.patch(`/load-balancers/${lb.id}`, { algorithm: "source_hash" }));
    const job = await world.servers.agent.take("LoadBalancerApply");
    await world.servers.agent.end(job, {
      status: "failed",
      error: { code: "configuration_refused", message: "no", internal: "haproxy: …", retryable: false },
    });
    const refused = await world.get(lb.id);
    expect(refused).toMatchObject({
      status: "active",
      status_reason: { code: "configuration_refused", job_id: job.id },
      observed_generation: lb.observed_generation,
    });
    expect(JSON.stringify(refused)).not.toContain("haproxy");
    await must(world.owned.post(`/load-balancers/${lb.id}/apply`));
    await world.settle();
    expect((await world.get(lb.id)).status_reason).toBeNull();
  });

  test("that could not be made is made anew by a re-apply", async () => {
    const lb = await world.create();
    await world.servers.agent.fail(await world.servers.agent.take("ServerCreate"));
    expect(await world.get(lb.id)).toMatchObject({
      status: "error",
      status_reason: { code: "provisioning_failed" },
    });
    await must(world.owned.post(`/load-balancers/${lb.id}/apply`));
    await world.settle();
    const now = await world.get(lb.id);
    expect(now.status).toBe("active");
    expect(now.machines[0]?.server_id).not.toBe(lb.machines[0]?.server_id);
    expect(await world.violations()).toEqual([]);
  });

  test("can only be made of the image that no request can name", async () => {
    const { status, body } = await world.owned.post(
      "/servers",
      world.servers.body({ image: "kule-lb", subnet_id: world.subnet }),
    );
    expect([status, pointers(body)]).toEqual([422, ["/image not_one_of"]]);
    expect(JSON.stringify((await world.owned.get("/catalog")).body)).not.toContain("kule-lb");
  });

  test("keeps its subnet and its network", async () => {
    const lb = await world.active();
    for (const path of [`/networks/${world.network}/subnets/${world.subnet}`, `/networks/${world.network}`])
      expect((await world.owned.delete(path)).body.code).toBe("in_use");
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    await world.settle();
  });
});
