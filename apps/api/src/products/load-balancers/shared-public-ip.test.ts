import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, wellStatus } from "../../testing/load-balancer-world.ts";
import type { ClaimedJob } from "../../testing/test-agent.ts";
import { type SeenVm, seenAs, TestScanner } from "../../testing/test-scanner.ts";

let world: LoadBalancerWorld;
let data: string;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
  data = (await world.gateways.network()).data;
});
afterAll(() => world?.close());

type LoadBalancer = Awaited<ReturnType<LoadBalancerWorld["get"]>>;
const ipOf = (lb: LoadBalancer) => must(world.owned.get(`/public-ips/${lb.public_ip?.id}`));
const reserved = () => must(world.owned.post("/public-ips", { region: world.servers.region, version: 4 }));
const addressState = async (address: string | undefined) =>
  (await world.servers.rows("select state from public_address where host(address) = $1", [address]))[0]
    ?.state;

/** The jobs that create its servers, done. */
async function creations(): Promise<ClaimedJob[]> {
  const done: ClaimedJob[] = await world.servers.agent.work();
  return done.filter(({ payload }) => payload.kind === "ServerCreate");
}

const interfacesOf = ({ payload }: { readonly payload: Schemas["JobPayload"] }) => {
  if (payload.kind !== "ServerCreate") throw new Error(`${payload.kind} makes no server`);
  return { inside: payload.interfaces[0], outside: payload.public_interface };
};

async function remove(lb: LoadBalancer): Promise<void> {
  await must(world.owned.delete(`/load-balancers/${lb.id}`));
  await world.settle();
  expect((await world.owned.get(`/load-balancers/${lb.id}`)).status).toBe(404);
}

describe("a load balancer on two servers with a public address", { timeout: 60_000 }, () => {
  test("is as wanted where both servers have the interface, and may use the address and no other", async () => {
    const lb = await world.create({ ha: true, public_ip: "auto" });
    const vms = (await creations()).map((job) => seenAs(job));
    const scanner = new TestScanner(world.servers.agent.api);
    const driftOf = async (seen: readonly SeenVm[]) => {
      for (let sighting = 0; sighting < 2; sighting += 1) await scanner.look(seen);
      const servers = await Promise.all(
        lb.machines.map(({ server_id }) => world.servers.server(server_id ?? "")),
      );
      return servers.map(({ drift }) =>
        (drift?.differences ?? []).map(({ field }: { field: string }) => field),
      );
    };
    expect(await driftOf(vms)).toEqual([[], []]);
    const [one, other] = vms;
    if (one?.firewall === undefined || other === undefined) throw new Error("there are no two VMs");
    const loose = one.firewall.ipsets.map((set) => ({ ...set, addresses: [...set.addresses, "192.0.2.1"] }));
    const withLoose = { ...one, firewall: { ...one.firewall, ipsets: loose } };
    const withoutPublic = { ...other, interfaces: other.interfaces?.slice(0, 1) };
    const found = await driftOf([withLoose, withoutPublic] as SeenVm[]);
    expect(found.toSorted()).toEqual([["interface 0 addresses", "interface 1 addresses"], ["interface 1"]]);
    await driftOf(vms);
    await remove(lb);
  });

  test("has it itself: both servers may use it, the active one brings it, and none is said to have it", async () => {
    const lb = await world.create({ ha: true, public_ip: "auto" });
    const address = lb.public_ip?.address;
    expect(address).toMatch(/^203\.0\.113\./);
    expect(await ipOf(lb)).toMatchObject({
      status: "attaching",
      attached_to: { type: "load_balancer", id: lb.id, name: lb.name },
      job_id: expect.stringMatching(/^job_/),
    });
    const done = (await world.servers.agent.work()) as readonly {
      readonly payload: Schemas["JobPayload"];
    }[];
    const made = done.filter(({ payload }) => payload.kind === "ServerCreate").map(interfacesOf);
    expect(made).toMatchObject([
      { outside: { vlan: 77, addresses: [], additional_addresses: [address] } },
      { outside: { vlan: 77, addresses: [], additional_addresses: [address] } },
    ]);
    // Their own way out stays the network's gateway.
    for (const { inside } of made) expect(inside?.gateway).not.toBeNull();
    expect(new Set(made.map(({ outside }) => outside?.mac)).size).toBe(2);
    const applied = done.flatMap(({ payload }) => (payload.kind === "LoadBalancerApply" ? [payload] : []));
    expect(applied.at(-1)?.high_availability).toMatchObject({
      virtual_address: lb.private_ip,
      public_address: { address, prefix_length: 24, gateway: "203.0.113.1", interface_name: "eth1" },
    });
    expect(await world.get(lb.id)).toMatchObject({ status: "active", public_ip: lb.public_ip });
    expect(await ipOf(lb)).toMatchObject({ status: "attached", job_id: null });
    for (const { server_id } of lb.machines)
      expect((await world.servers.server(server_id ?? "")).public_ips).toEqual([]);
    expect(await world.violations()).toEqual([]);
    await remove(lb);
  });

  test("keeps it from servers, gateways and other load balancers, which are told the way out", async () => {
    const lb = await world.active({ ha: true, public_ip: "auto" });
    const id = lb.public_ip?.id;
    const server = await world.server();
    const network = await world.gateways.network();
    const precondition = {
      name: "public_ip_of_no_load_balancer",
      resource: lb.id,
      fix: `DELETE /load-balancers/${lb.id}`,
    };
    for (const force of [false, true])
      expect(
        (await world.owned.post(`/public-ips/${id}/attach`, { server_id: server.id, force })).body,
      ).toMatchObject({ code: "already_attached", precondition });
    for (const answer of [
      await world.owned.post("/servers", world.servers.body({ subnet_id: world.subnet, public_ip: id })),
      await world.gateways.create(network, { public_ip: id }),
      await world.post({ public_ip: id }),
      await world.post({ public_ip: id, ha: true }),
    ])
      expect([answer.status, answer.body]).toMatchObject([409, { code: "already_attached", precondition }]);
    for (const answer of [
      await world.owned.post(`/public-ips/${id}/detach`),
      await world.owned.delete(`/public-ips/${id}`),
    ])
      expect([answer.status, answer.body]).toMatchObject([409, { code: "in_use", precondition }]);
    expect((await ipOf(lb)).actions).toMatchObject({
      attach: { allowed: false, code: "already_attached" },
      detach: { allowed: false, code: "in_use" },
      delete: { allowed: false, code: "in_use" },
    });
    expect(await world.violations()).toEqual([]);
    await remove(lb);
  });

  test("gives a reserved one back only when both servers are gone, and then for a quarantine", async () => {
    const lb = await world.active({ ha: true, public_ip: "auto" });
    await must(world.owned.delete(`/load-balancers/${lb.id}`));
    expect(await ipOf(lb)).toMatchObject({ status: "detaching", attached_to: { id: lb.id } });
    const first = await world.servers.agent.take("ServerDestroy");
    await world.servers.agent.succeed(first, "off");
    expect((await ipOf(lb)).attached_to).toMatchObject({ type: "load_balancer" });
    expect(await addressState(lb.public_ip?.address)).toBe("used");
    await world.settle();
    expect((await world.owned.get(`/public-ips/${lb.public_ip?.id}`)).status).toBe(404);
    expect(await addressState(lb.public_ip?.address)).toBe("quarantined");
    expect(await world.violations()).toEqual([]);
  });

  test("leaves the organisation's own to it, and a protected one", async () => {
    const own = await reserved();
    const named = await world.active({ ha: true, public_ip: own.id });
    expect(named.public_ip).toEqual({ id: own.id, address: own.address });
    const lb = await world.active({ ha: true, public_ip: "auto" });
    const path = `/public-ips/${lb.public_ip?.id}`;
    await must(world.owned.patch(path, { protection: { delete: true } }));
    await remove(named);
    await remove(lb);
    for (const each of [`/public-ips/${own.id}`, path])
      expect(await must(world.owned.get(each))).toMatchObject({ status: "free", attached_to: null });
    expect(await world.violations()).toEqual([]);
  });

  test("gets another machine at once for a lost one, with the same address", async () => {
    const lb = await world.active({ ha: true, public_ip: "auto" });
    const answering = (slot: 1 | 2) => ({
      load_balancer_id: lb.id,
      slot,
      server_id: lb.machines[slot - 1]?.server_id ?? "",
      seen_after_ms: 0,
      status: wellStatus,
    });
    await world.report(answering(1), answering(2));
    await world.loseVm(lb.machines[1]?.server_id ?? "");
    expect(await world.keep()).toMatchObject({ replaced: 1 });
    const [made, ...more] = await creations();
    expect([made === undefined ? null : interfacesOf(made).outside, more]).toMatchObject([
      { addresses: [], additional_addresses: [lb.public_ip?.address] },
      [],
    ]);
    expect(await world.get(lb.id)).toMatchObject({ status: "active", public_ip: lb.public_ip });
    expect(await world.violations()).toEqual([]);
    await remove(lb);
  });

  test("is not in a data subnet, and is not made where no address is left", async () => {
    const inData = { ha: true, public_ip: "auto", subnet_id: data };
    expect((await world.post(inData)).body).toMatchObject({
      code: "tier_forbids_egress",
      precondition: { resource: data },
    });
    const { organisation, world: api } = world.servers;
    const limit = (limits: object) =>
      api.operator.put(`/organisations/${organisation.id}/quotas`, { limits });
    const { items } = await must(world.owned.get("/quotas"));
    const { used } = items.find(({ name }: { name: string }) => name === "public_ips");
    await limit({ public_ips: used });
    const body = world.body({ ha: true, public_ip: "auto" });
    expect((await world.owned.post("/load-balancers?dry_run=true", body)).body.blockers).toMatchObject([
      { name: "quota_public_ips" },
    ]);
    await limit({ public_ips: null });
    const { would } = (await world.owned.post("/load-balancers?dry_run=true", body)).body;
    expect(would.load_balancer.public_ip.address).toMatch(/^203\.0\.113\./);
    expect((await must(world.owned.get(`/load-balancers?name=${body.name}`))).items).toEqual([]);
    expect(await world.violations()).toEqual([]);
  });

  test("never lets the database say that a server has it, or that it is of another one", async () => {
    const lb = await world.active({ ha: true, public_ip: "auto" });
    const ids = [lb.public_ip?.id, lb.machines[0]?.server_id];
    await expect(
      world.servers.rows("update public_ip set server_id = $2, held_by = $2 where id = $1", ids),
    ).rejects.toMatchObject({ constraint: "public_ip_of_one" });
    const alone = await world.create();
    await expect(
      world.servers.rows("update public_ip set load_balancer_id = $2 where id = $1", [
        lb.public_ip?.id,
        alone.id,
      ]),
    ).rejects.toMatchObject({ constraint: "public_ip_kept" });
    await world.settle();
    await remove(lb);
  });
});
