import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GatewayWorld, must } from "../../testing/gateway-world.ts";
import type { ServerWorld } from "../../testing/server-world.ts";

let world: GatewayWorld;
let servers: ServerWorld;

beforeAll(async () => {
  world = await GatewayWorld.open();
  servers = world.servers;
});
afterEach(async () => {
  await world.settle();
  expect(await world.violations()).toEqual([]);
});
afterAll(async () => {
  await world.close();
});

const subnet = async (network: { readonly id: string }, id: string) =>
  must(servers.owned.get(`/networks/${network.id}/subnets/${id}`));
const addressState = async (address: string) =>
  (await servers.rows("select state, free_after from public_address where address = $1", [address]))[0];
const usedAddresses = async () =>
  (await servers.rows("select host(address) as a from public_address where state = 'used'")).length;
/** The next job of a network, held by an agent. */
const claimApply = () => servers.agent.take("NetworkApply");
const explain = async (network: { readonly id: string }, question: object) =>
  must(servers.owned.post(`/networks/${network.id}/explain`, question));

describe("a gateway", () => {
  it("is ready when the edge has it, with an address that everything leaves with", async () => {
    const network = await world.network();
    const answer = await world.create(network, { subnet_ids: [network.app], labels: { of: "shop" } });
    expect(answer).toMatchObject({
      status: 202,
      body: {
        gateway: {
          network_id: network.id,
          status: "provisioning",
          observed_generation: 0,
          subnets: [{ subnet_id: network.app, name: "app", status: "attaching" }],
          port_forwards: 0,
          labels: { of: "shop" },
        },
        job: { kind: "NetworkApply", status: "queued" },
      },
    });
    const { gateway, job } = answer.body;
    expect(answer.headers.get("Location")).toBe(`/api/v1/gateways/${gateway.id}`);
    expect(gateway.job_id).toBe(job.id);
    expect(await subnet(network, network.app)).toMatchObject({ egress: "none" });
    expect(await must(servers.owned.get(`/public-ips/${gateway.public_ip.id}`))).toMatchObject({
      status: "attaching",
      attached_to: { type: "gateway", id: gateway.id, name: gateway.name },
      job_id: job.id,
    });

    const told = (await world.settle()).get(network.id);
    expect(told?.gateway).toEqual({
      id: gateway.id,
      address: gateway.public_ip.address,
      prefix_length: 24,
      next_hop: "203.0.113.1",
      vlan: 77,
      subnet_ids: [network.app],
      port_forwards: [],
    });
    expect(await world.get(gateway.id)).toMatchObject({
      status: "active",
      observed_generation: 1,
      job_id: null,
      subnets: [{ status: "ready" }],
    });
    expect(await must(servers.owned.get(`/public-ips/${gateway.public_ip.id}`))).toMatchObject({
      status: "attached",
    });
    const egress = [network.app, network.mgmt, network.data].map(
      async (id) => (await subnet(network, id)).egress,
    );
    expect(await Promise.all(egress)).toEqual(["gateway", "none", "forbidden"]);
  });

  it("has the requested address, and no other organisation's", async () => {
    const network = await world.network();
    const other = await servers.world.addOrganisation("other");
    await must(
      servers.world.operator.post(`/ip-pools/${world.pool}/allocations`, {
        organisation_id: other.id,
        addresses: ["203.0.113.250"],
      }),
    );
    expect(await world.create(network, { address: "203.0.113.250" })).toMatchObject({
      status: 409,
      body: { code: "no_public_ip_available" },
    });
    const { gateway } = await must(world.create(network, { address: "203.0.113.40" }));
    expect(gateway.public_ip.address).toBe("203.0.113.40");
  });

  it("can use an address that the organisation has, and leaves it to the organisation when it is deleted", async () => {
    const network = await world.network();
    const { id, address } = await must(servers.owned.post("/public-ips", { region: servers.region }));
    const before = await usedAddresses();
    const { gateway } = await must(world.create(network, { public_ip: id, subnet_ids: [network.app] }));
    expect(gateway.public_ip).toEqual({ id, address });
    expect(await usedAddresses()).toBe(before);
    expect((await world.settle()).get(network.id)?.gateway?.address).toBe(address);
    expect(await must(servers.owned.get(`/public-ips/${id}`))).toMatchObject({
      status: "attached",
      attached_to: { type: "gateway", id: gateway.id },
    });
    expect(await servers.owned.delete(`/public-ips/${id}`)).toMatchObject({
      status: 409,
      body: { code: "in_use" },
    });
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    await world.settle();
    expect((await servers.owned.get(`/gateways/${gateway.id}`)).status).toBe(404);
    expect(await must(servers.owned.get(`/public-ips/${id}`))).toMatchObject({ status: "free", address });
    expect(await addressState(address)).toMatchObject({ state: "used" });
    // And can be another gateway's at once.
    expect((await must(world.create(network, { public_ip: id }))).gateway.public_ip.address).toBe(address);
  });

  it("gets no address that is in use, or that cannot be a gateway's", async () => {
    const network = await world.network();
    const taken = async (more: object = {}) =>
      (await must(servers.owned.post("/public-ips", { region: servers.region, ...more }))).id as string;
    const served = await world.gateway(await world.network());
    const server = await world.server(network.app);
    const onServer = await taken();
    await must(servers.owned.post(`/public-ips/${onServer}/attach`, { server_id: server.id }));
    for (const [public_ip, resource] of [
      [served.public_ip.id, served.id],
      [onServer, server.id],
    ])
      expect(await world.create(network, { public_ip })).toMatchObject({
        status: 409,
        body: { code: "already_attached", precondition: { resource } },
      });
    const free = await taken();
    const other = await servers.world.addOrganisation(world.name());
    for (const [wanted, code] of [
      [{ public_ip: "ip_x" }, "not_found"],
      [{ public_ip: free, address: "203.0.113.40" }, "conflicts_with"],
    ] as const)
      expect(await world.create(network, wanted)).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: "/public_ip", code }] },
      });
    const theirs = (await must(other.owner.post("/networks", { name: "n", region: servers.region }))).network;
    const stolen = { name: "thief", network_id: theirs.id, public_ip: free };
    expect(await other.owner.post("/gateways", stolen)).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/public_ip", code: "not_found" }] },
    });
    expect(await must(servers.owned.get(`/public-ips/${free}`))).toMatchObject({ status: "free" });
    expect(await must(servers.owned.get("/gateways"))).not.toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ network_id: network.id })]),
    });
  });

  it("is of one name in a region, and the only one of its network; a refused one uses no address", async () => {
    const network = await world.network();
    const first = await world.gateway(network, network.app);
    const before = await usedAddresses();
    const second = await world.network();
    expect(await world.create(second, { name: first.name })).toMatchObject({
      status: 409,
      body: { code: "name_taken" },
    });
    expect(await world.create(network)).toMatchObject({
      status: 409,
      body: { code: "already_attached", precondition: { resource: first.id } },
    });
    expect(await world.create(second, { subnet_ids: [second.app, second.data] })).toMatchObject({
      status: 409,
      body: { code: "tier_forbids_egress", precondition: { resource: second.data } },
    });
    expect(await world.create(second, { subnet_ids: [network.app, "sub_x"] })).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/subnet_ids/0" }, { pointer: "/subnet_ids/1" }] },
    });
    expect(await usedAddresses()).toBe(before);
  });

  it("needs an address, and the organisation's quota", async () => {
    const network = await world.network();
    const free = await servers.rows(
      `update public_address set allocated_to = null where allocated_to = $1 and state in ('free', 'quarantined')
       returning host(address) as address`,
      [servers.organisation.id],
    );
    try {
      expect(await world.create(network)).toMatchObject({
        status: 409,
        body: { code: "no_public_ip_available" },
      });
    } finally {
      await servers.rows("update public_address set allocated_to = $1 where host(address) = any ($2)", [
        servers.organisation.id,
        free.map(({ address }: { address: string }) => address),
      ]);
    }
    const { operator } = servers.world;
    const quotas = `/organisations/${servers.organisation.id}/quotas`;
    await must(operator.put(quotas, { limits: { public_ips: await usedAddresses() } }));
    try {
      expect(await world.create(network)).toMatchObject({
        status: 409,
        body: { code: "quota_exceeded", precondition: { quota: { name: "public_ips" } } },
      });
    } finally {
      await must(operator.put(quotas, { limits: { public_ips: null } }));
    }
    const [{ gateways }] = await servers.rows("select count(*)::int as gateways from gateway");
    await must(operator.put(quotas, { limits: { gateways: gateways + 1 } }));
    try {
      const answers = await Promise.all(
        [await world.network(), await world.network(), await world.network()].map((each) =>
          world.create(each),
        ),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409, 409]);
      expect(answers.find(({ status }) => status === 409)).toMatchObject({
        body: {
          code: "quota_exceeded",
          precondition: {
            name: "quota_gateways",
            quota: { name: "gateways", limit: gateways + 1, used: gateways + 1, asked: 1 },
          },
        },
      });
      const held = (await must(servers.owned.get("/quotas"))).items.find(
        ({ name }: { name: string }) => name === "gateways",
      );
      expect(held).toMatchObject({ limit: gateways + 1, used: gateways + 1 });
    } finally {
      await must(operator.put(quotas, { limits: { gateways: null } }));
    }
  });

  it("needs a region with an edge, and one that is open", async () => {
    const lonely = await servers.world.addRegion("edgeless");
    const { network } = await must(
      servers.owned.post("/networks", { name: world.name(), region: lonely.slug }),
    );
    expect(await world.create(network)).toMatchObject({
      status: 409,
      body: { code: "region_unavailable", precondition: { name: "region_has_edge" } },
    });
    const here = await world.network();
    await must(servers.world.operator.patch(`/regions/${servers.region}`, { maintenance: true }));
    try {
      expect(await world.create(here)).toMatchObject({
        status: 409,
        body: { code: "region_unavailable", precondition: { name: "region_open" } },
      });
    } finally {
      await must(servers.world.operator.patch(`/regions/${servers.region}`, { maintenance: false }));
    }
  });

  it("is renamed without a job for the edge, and not to another's name", async () => {
    const [one, two] = [
      await world.gateway(await world.network()),
      await world.gateway(await world.network()),
    ];
    const renamed = await servers.owned.patch(
      `/gateways/${one.id}`,
      { name: "way-out", labels: { a: "b" } },
      { "If-Match": `"g${one.generation}"` },
    );
    expect(renamed).toMatchObject({
      status: 200,
      body: { job: null, gateway: { name: "way-out", status: "active", labels: { a: "b" } } },
    });
    expect(await servers.owned.patch(`/gateways/${two.id}`, { name: "way-out" })).toMatchObject({
      status: 409,
      body: { code: "name_taken" },
    });
    const stale = { "If-Match": `"g${one.generation}"` };
    expect((await servers.owned.delete(`/gateways/${one.id}`, stale)).status).toBe(412);
    const listed = await must(servers.owned.get("/gateways?name=way-out"));
    expect(listed.items).toEqual([(await servers.owned.get(`/gateways/${one.id}`)).body]);
  });

  it("keeps its address to itself", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    const server = await world.server(network.app);
    const ip = `/public-ips/${gateway.public_ip.id}`;
    for (const force of [false, true])
      expect(await servers.owned.post(`${ip}/attach`, { server_id: server.id, force })).toMatchObject({
        status: 409,
        body: { code: "already_attached", precondition: { resource: gateway.id } },
      });
    expect(await servers.owned.post(`${ip}/detach`)).toMatchObject({ status: 409, body: { code: "in_use" } });
    expect(await servers.owned.delete(ip)).toMatchObject({ status: 409, body: { code: "in_use" } });
    const wanted = servers.body({ subnet_id: network.app, public_ip: gateway.public_ip.id });
    expect(await servers.owned.post("/servers", wanted)).toMatchObject({
      status: 409,
      body: { code: "already_attached", precondition: { resource: gateway.id } },
    });
  });
});

describe("a subnet", () => {
  it("has internet access from when the edge has it until the edge has removed it", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network);
    const path = `/gateways/${gateway.id}/subnets`;
    const attached = await servers.owned.post(path, { subnet_id: network.mgmt });
    expect(attached).toMatchObject({
      status: 202,
      body: { gateway: { status: "updating", subnets: [{ subnet_id: network.mgmt, status: "attaching" }] } },
    });
    expect((await subnet(network, network.mgmt)).egress).toBe("none");
    expect(await servers.owned.post(path, { subnet_id: network.mgmt })).toMatchObject({
      status: 409,
      body: { code: "already_attached" },
    });
    await world.settle();
    expect((await subnet(network, network.mgmt)).egress).toBe("gateway");
    expect(await servers.owned.delete(`/networks/${network.id}/subnets/${network.mgmt}`)).toMatchObject({
      status: 409,
      body: { code: "in_use", precondition: { resource: gateway.id } },
    });

    const left = await servers.owned.delete(`${path}/${network.mgmt}`);
    expect(left).toMatchObject({
      status: 202,
      body: { gateway: { status: "updating", subnets: [{ status: "detaching" }] } },
    });
    expect((await subnet(network, network.mgmt)).egress).toBe("gateway");
    expect(await servers.owned.delete(`${path}/${network.mgmt}`)).toMatchObject({
      status: 409,
      body: { code: "not_attached" },
    });
    expect(await servers.owned.delete(`/networks/${network.id}/subnets/${network.mgmt}`)).toMatchObject({
      status: 409,
      body: { code: "in_use" },
    });
    expect((await world.settle()).get(network.id)?.gateway?.subnet_ids).toEqual([]);
    expect((await subnet(network, network.mgmt)).egress).toBe("none");
    expect(await world.get(gateway.id)).toMatchObject({ status: "active", subnets: [] });
    expect((await servers.owned.delete(`/networks/${network.id}/subnets/${network.mgmt}`)).status).toBe(202);
  });

  it("of tier data has no path to the internet", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    expect(await world.create(await world.network(), { subnet_ids: [network.data] })).toMatchObject({
      status: 422,
    });
    expect(
      await servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.data }),
    ).toMatchObject({ status: 409, body: { code: "tier_forbids_egress" } });
    const inside = await world.server(network.data);
    expect(await world.forward(gateway, inside.id)).toMatchObject({
      status: 409,
      body: { code: "tier_forbids_egress", precondition: { resource: network.data } },
    });
    const change = await servers.owned.patch(`/networks/${network.id}/subnets/${network.app}`, {
      tier: "data",
    });
    expect(change.status).toBe(422);
  });

  it("of tier data is refused by the database, whoever writes", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    const serve = (tier: string) =>
      servers.rows(
        `insert into gateway_subnet (subnet_id, organisation_id, network_id, gateway_id, tier, wanted_generation)
         values ($1, $2, $3, $4, $5, 1)`,
        [network.data, servers.organisation.id, network.id, gateway.id, tier],
      );
    await expect(serve("data")).rejects.toMatchObject({ constraint: "gateway_serves_no_data" });
    await expect(serve("app")).rejects.toMatchObject({ constraint: "gateway_subnet_tier" });
    await expect(
      servers.rows("update subnet set tier = 'data' where id = $1", [network.app]),
    ).rejects.toMatchObject({ constraint: "gateway_subnet_tier" });
    await expect(
      servers.rows("update gateway_subnet set tier = 'data' where subnet_id = $1", [network.app]),
    ).rejects.toMatchObject({ constraint: "gateway_serves_no_data" });
  });

  it("that is attached while a job runs is applied by the next job", async () => {
    const network = await world.network();
    const { gateway } = await must(world.create(network, { subnet_ids: [network.app] }));
    const first = await claimApply();
    await must(servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.mgmt }));
    await servers.agent.end(first, { status: "succeeded" });
    expect(await world.get(gateway.id)).toMatchObject({
      status: "provisioning",
      subnets: [{ status: "ready" }, { status: "attaching" }],
    });
    const told = (await world.settle()).get(network.id);
    expect(told?.gateway?.subnet_ids).toEqual([network.app, network.mgmt].sort());
    expect(await world.get(gateway.id)).toMatchObject({
      status: "active",
      subnets: [{ status: "ready" }, { status: "ready" }],
    });
  });

  it("that is attached again before the edge has removed it keeps its access", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    const path = `/gateways/${gateway.id}/subnets`;
    await must(servers.owned.delete(`${path}/${network.app}`));
    await must(servers.owned.post(path, { subnet_id: network.app }));
    expect((await world.settle()).get(network.id)?.gateway?.subnet_ids).toEqual([network.app]);
    expect(await world.get(gateway.id)).toMatchObject({ status: "active", subnets: [{ status: "ready" }] });
  });
});

describe("a deleted gateway", () => {
  it("is deleted, and its address quarantined, when the edge has removed it", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    expect(await servers.owned.delete(`/networks/${network.id}`)).toMatchObject({ status: 409 });
    const deleted = await servers.owned.delete(`/gateways/${gateway.id}`);
    expect(deleted).toMatchObject({
      status: 202,
      body: { gateway: { status: "deleting", subnets: [{ status: "detaching" }] } },
    });
    for (const refused of [
      await servers.owned.delete(`/gateways/${gateway.id}`),
      await servers.owned.patch(`/gateways/${gateway.id}`, { name: "late" }),
      await servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.mgmt }),
      await world.create(network),
    ])
      expect(refused).toMatchObject({ status: 409, body: { code: "resource_deleting" } });
    // No agent works in the region: the address is still in force there, so it may not be reused.
    expect(await addressState(gateway.public_ip.address)).toMatchObject({ state: "used" });
    expect((await subnet(network, network.app)).egress).toBe("gateway");
    expect(await must(servers.owned.get(`/public-ips/${gateway.public_ip.id}`))).toMatchObject({
      status: "detaching",
    });

    expect((await world.settle()).get(network.id)?.gateway).toBeNull();
    expect((await servers.owned.get(`/gateways/${gateway.id}`)).status).toBe(404);
    expect((await servers.owned.get(`/public-ips/${gateway.public_ip.id}`)).status).toBe(404);
    const rests = await addressState(gateway.public_ip.address);
    expect(rests).toMatchObject({ state: "quarantined" });
    expect(rests.free_after.getTime()).toBeGreaterThan(Date.now() + 60_000);
    expect((await subnet(network, network.app)).egress).toBe("none");
    expect((await world.create(network)).status).toBe(202);
  });

  it("before the edge has ever had it releases its address as well", async () => {
    const network = await world.network();
    const before = await usedAddresses();
    const { gateway } = await must(world.create(network, { subnet_ids: [network.app] }));
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    expect(await usedAddresses()).toBe(before + 1);
    await world.settle();
    expect(await usedAddresses()).toBe(before);
  });

  it("being applied at the edge stays until the edge has another state", async () => {
    const network = await world.network();
    const { gateway } = await must(world.create(network));
    const first = await claimApply();
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    await servers.agent.end(first, { status: "succeeded" });
    expect(await world.get(gateway.id)).toMatchObject({ status: "deleting" });
    expect(await addressState(gateway.public_ip.address)).toMatchObject({ state: "used" });
    await world.settle();
    expect((await servers.owned.get(`/gateways/${gateway.id}`)).status).toBe(404);
  });

  it("says why it still exists when the job has failed, and is deleted by a retry", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    const job = await claimApply();
    await servers.agent.fail(job, "edge_unreachable");
    expect(await world.get(gateway.id)).toMatchObject({
      status: "deleting",
      status_reason: { code: "apply_failed", job_id: job.id },
    });
    expect(await addressState(gateway.public_ip.address)).toMatchObject({ state: "used" });
    await must(servers.owned.post(`/jobs/${job.id}/retry`));
    expect(await world.get(gateway.id)).toMatchObject({ status: "deleting", status_reason: null });
    await world.settle();
    expect(await addressState(gateway.public_ip.address)).toMatchObject({ state: "quarantined" });
  });

  it("may be deleted again when the job has failed, and only then", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    const path = `/gateways/${gateway.id}`;
    await must(servers.owned.delete(path));
    expect((await world.get(gateway.id)).actions.delete).toMatchObject({ allowed: false });
    await servers.agent.fail(await claimApply(), "edge_unreachable");
    expect((await world.get(gateway.id)).actions).toMatchObject({
      delete: { allowed: true, code: null },
      attach_subnet: { allowed: false, code: "resource_deleting" },
    });
    expect(await servers.owned.delete(`/networks/${network.id}/subnets/${network.app}`)).toMatchObject({
      status: 409,
      body: { precondition: { fix: `DELETE ${path}/subnets/${network.app}` } },
    });
    const again = await servers.owned.delete(path);
    expect(again).toMatchObject({
      status: 202,
      body: { gateway: { status: "deleting", status_reason: null }, job: { status: "queued" } },
    });
    expect(await servers.owned.delete(path)).toMatchObject({
      status: 409,
      body: { code: "resource_deleting" },
    });
    expect((await world.settle()).get(network.id)?.gateway).toBeNull();
    expect((await servers.owned.get(path)).status).toBe(404);
    expect(await addressState(gateway.public_ip.address)).toMatchObject({ state: "quarantined" });
  });

  it("leaves an address that is protected to the organisation", async () => {
    const gateway = await world.gateway(await world.network());
    const ip = `/public-ips/${gateway.public_ip.id}`;
    await must(servers.owned.patch(ip, { protection: { delete: true } }));
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    await world.settle();
    expect(await must(servers.owned.get(ip))).toMatchObject({ status: "free", attached_to: null });
  });
});

describe("a change that the edge refused", () => {
  it("leaves the previous state in force, says why, and is applied with the next change", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    await must(servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.mgmt }));
    const job = await claimApply();
    await servers.agent.fail(job, "edge_unreachable");
    expect(await world.get(gateway.id)).toMatchObject({
      status: "error",
      status_reason: { code: "apply_failed", job_id: job.id },
      subnets: [{ status: "ready" }, { status: "attaching" }],
    });
    await must(servers.owned.delete(`/gateways/${gateway.id}/subnets/${network.app}`));
    expect(await world.get(gateway.id)).toMatchObject({ status: "updating", status_reason: null });
    await world.settle();
    expect(await world.get(gateway.id)).toMatchObject({
      status: "active",
      subnets: [{ subnet_id: network.mgmt, status: "ready" }],
    });
  });

  it("may be requested again, for a subnet and for a port that are being deleted", async () => {
    const network = await world.network();
    const gateway = await world.gateway(network, network.app);
    const server = await world.server(network.app);
    const { port_forward: forward } = await must(world.forward(gateway, server.id));
    await world.settle();
    const port = `/gateways/${gateway.id}/port-forwards/${forward.id}`;
    const served = `/gateways/${gateway.id}/subnets/${network.app}`;
    await must(servers.owned.delete(port));
    await servers.agent.fail(await claimApply(), "edge_unreachable");
    expect(await servers.owned.delete(port)).toMatchObject({
      status: 202,
      body: { port_forward: { status: "deleting" }, job: { status: "queued" } },
    });
    await must(servers.owned.delete(served));
    await servers.agent.fail(await claimApply(), "edge_unreachable");
    expect(await servers.owned.delete(served)).toMatchObject({
      status: 202,
      body: { gateway: { subnets: [{ status: "detaching" }] } },
    });
    expect((await world.settle()).get(network.id)?.gateway).toMatchObject({
      subnet_ids: [],
      port_forwards: [],
    });
    expect(await world.get(gateway.id)).toMatchObject({ status: "active", subnets: [] });
    expect((await servers.owned.delete(port)).status).toBe(404);
  });
});

describe("the path of a packet", () => {
  it("is explained by gateways and forwarded ports", async () => {
    const network = await world.network();
    const server = await world.server(network.app);
    const out = {
      from: { server_id: server.id },
      to: { address: "198.51.100.7" },
      protocol: "tcp",
      port: 443,
    };
    expect(await explain(network, out)).toMatchObject({
      verdict: "denied",
      decided_by: { type: "gateway", resource: null },
    });
    const gateway = await world.gateway(network, network.app);
    expect(await explain(network, out)).toMatchObject({
      verdict: "allowed",
      decided_by: { type: "gateway", resource: gateway.id },
    });
    const unserved = await world.server(network.mgmt);
    expect(await explain(network, { ...out, from: { server_id: unserved.id } })).toMatchObject({
      verdict: "denied",
      decided_by: { type: "gateway", resource: gateway.id },
    });
    const { port_forward: forward } = await must(world.forward(gateway, server.id));
    const into = { from: { address: "198.51.100.7" }, to: { address: gateway.public_ip.address } };
    expect(await explain(network, { ...into, protocol: "tcp", port: 443 })).toMatchObject({
      verdict: "allowed",
      decided_by: { type: "port_forward", resource: forward.id },
    });
    expect(await explain(network, { ...into, protocol: "tcp", port: 22 })).toMatchObject({
      verdict: "denied",
      decided_by: { type: "gateway", resource: gateway.id },
    });
    const [inside, elsewhere] = [await world.server(network.data), await world.network()];
    expect(await explain(network, { ...out, from: { server_id: inside.id } })).toMatchObject({
      verdict: "denied",
      decided_by: { type: "tier", resource: network.data },
    });
    // In another network, and so not for this gateway.
    const question = { ...into, protocol: "tcp", port: 443 };
    expect((await servers.owned.post(`/networks/${elsewhere.id}/explain`, question)).status).toBe(422);
  });
});
