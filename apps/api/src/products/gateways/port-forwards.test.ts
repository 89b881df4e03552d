import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GatewayWorld, must } from "../../testing/gateway-world.ts";
import type { ServerWorld } from "../../testing/server-world.ts";

let world: GatewayWorld;
let servers: ServerWorld;

beforeAll(async () => {
  world = await GatewayWorld.open({ addressQuarantineSeconds: 0 });
  servers = world.servers;
});
afterEach(async () => {
  await world.settle();
  expect(await world.violations()).toEqual([]);
});
afterAll(async () => {
  await world.close();
});

async function served() {
  const network = await world.network();
  const gateway = await world.gateway(network, network.app);
  const server = await world.server(network.app);
  return { network, gateway, server };
}
const forwards = async (gateway: { readonly id: string }) =>
  (await must(servers.owned.get(`/gateways/${gateway.id}/port-forwards`))).items;

async function destroy(server: { readonly id: string }): Promise<void> {
  const { job } = await must(servers.owned.delete(`/servers/${server.id}?purge=true`));
  expect(job.kind).toBe("ServerDestroy");
  for (;;) {
    const claimed = await servers.agent.claim();
    if (claimed?.payload.kind !== "ServerDestroy") throw new Error("the destroy is not the next job");
    await servers.agent.succeed(claimed, "off");
    return;
  }
}

describe("a forwarded port", () => {
  it("reaches its server when the edge has it, until the edge has removed it", async () => {
    const { network, gateway, server } = await served();
    const address = server.interfaces[0].private_ip;
    const made = await world.forward(gateway, server.id, { description: "the shop" });
    expect(made).toMatchObject({
      status: 202,
      body: {
        port_forward: {
          gateway_id: gateway.id,
          protocol: "tcp",
          listen_port: 443,
          server_id: server.id,
          target_address: address,
          target_port: 8443,
          description: "the shop",
          status: "provisioning",
        },
        gateway: { status: "updating", port_forwards: 1 },
        job: { kind: "NetworkApply" },
      },
    });
    const { port_forward: forward } = made.body;
    expect((await world.settle()).get(network.id)?.gateway?.port_forwards).toEqual([
      { protocol: "tcp", listen_port: 443, target_address: address, target_port: 8443 },
    ]);
    expect(await forwards(gateway)).toEqual([{ ...forward, status: "active" }]);

    const path = `/gateways/${gateway.id}/port-forwards/${forward.id}`;
    expect(await servers.owned.delete(path)).toMatchObject({
      status: 202,
      body: { port_forward: { status: "deleting" }, gateway: { port_forwards: 0 } },
    });
    expect(await servers.owned.delete(path)).toMatchObject({
      status: 409,
      body: { code: "resource_deleting" },
    });
    expect((await world.settle()).get(network.id)?.gateway?.port_forwards).toEqual([]);
    expect(await forwards(gateway)).toEqual([]);
    expect((await servers.owned.delete(path)).status).toBe(404);
  });

  it("is forwarded once for each protocol, and free as soon as it is deleted", async () => {
    const { gateway, server } = await served();
    const { port_forward: first } = await must(world.forward(gateway, server.id));
    expect(await world.forward(gateway, server.id, { target_port: 80 })).toMatchObject({
      status: 409,
      body: { code: "port_in_use", precondition: { resource: first.id } },
    });
    expect((await world.forward(gateway, server.id, { protocol: "udp" })).status).toBe(202);
    await must(servers.owned.delete(`/gateways/${gateway.id}/port-forwards/${first.id}`));
    const again = await must(world.forward(gateway, server.id, { target_port: undefined }));
    expect(again.port_forward.target_port).toBe(443);
  });

  it("leads to served subnets, and nowhere else", async () => {
    const { network, gateway, server } = await served();
    const unserved = await world.server(network.mgmt);
    expect(await world.forward(gateway, unserved.id)).toMatchObject({
      status: 409,
      body: { code: "subnet_no_egress", precondition: { resource: network.mgmt } },
    });
    // The same addresses, in another network: it is its server's network that counts.
    const elsewhere = await world.network();
    const stranger = await world.server(elsewhere.app);
    expect(stranger.interfaces[0].private_ip).toBe(server.interfaces[0].private_ip);
    expect(await world.forward(gateway, stranger.id)).toMatchObject({
      status: 409,
      body: { code: "subnet_no_egress" },
    });
    expect(await world.forward(gateway, "srv_none")).toMatchObject({
      status: 422,
      body: { errors: [{ pointer: "/server_id", code: "not_found" }] },
    });
    await must(servers.owned.delete(`/servers/${server.id}`));
    expect(await world.forward(gateway, server.id)).toMatchObject({
      status: 409,
      body: { code: "resource_deleting", precondition: { resource: server.id } },
    });
  });

  it("keeps its subnet served, and its gateway", async () => {
    const { network, gateway, server } = await served();
    const { port_forward: forward } = await must(world.forward(gateway, server.id));
    for (const path of [`/gateways/${gateway.id}`, `/gateways/${gateway.id}/subnets/${network.app}`])
      expect(await servers.owned.delete(path)).toMatchObject({
        status: 409,
        body: { code: "in_use", precondition: { resource: forward.id } },
      });
    expect((await world.get(gateway.id)).actions).toMatchObject({
      delete: { allowed: false, code: "in_use" },
      forward_port: { allowed: true },
    });
    await must(servers.owned.delete(`/gateways/${gateway.id}/port-forwards/${forward.id}`));
    // Both are being deleted, with one job for the edge.
    await must(servers.owned.delete(`/gateways/${gateway.id}`));
    await world.settle();
    expect((await servers.owned.get(`/gateways/${gateway.id}`)).status).toBe(404);
  });

  it("is one of a hundred at most", async () => {
    const { gateway, server } = await served();
    for (let port = 1; port <= 100; port += 1)
      await must(world.forward(gateway, server.id, { listen_port: port }));
    expect(await world.forward(gateway, server.id, { listen_port: 101 })).toMatchObject({
      status: 409,
      body: { code: "quota_exceeded" },
    });
    expect(
      (await must(servers.owned.get(`/gateways/${gateway.id}/port-forwards?limit=7`))).items,
    ).toHaveLength(7);
  });
});

describe("a server that ports are forwarded to", () => {
  it("keeps them in its removal buffer", async () => {
    const { gateway, server } = await served();
    await must(world.forward(gateway, server.id));
    await must(servers.owned.delete(`/servers/${server.id}`));
    await world.settle();
    expect(await forwards(gateway)).toMatchObject([{ status: "active" }]);
    await must(servers.owned.post(`/servers/${server.id}/cancel-deletion`));
    await world.settle();
    expect(await forwards(gateway)).toMatchObject([{ status: "active" }]);
  });

  it("deletes them too, and its address is not assigned until the edge has removed them", async () => {
    const { network, gateway, server } = await served();
    const { private_ip: address } = server.interfaces[0];
    await must(world.forward(gateway, server.id));
    await world.settle();
    await destroy(server);
    expect(await forwards(gateway)).toMatchObject([{ status: "deleting", server_id: server.id }]);
    expect(await world.get(gateway.id)).toMatchObject({ status: "updating", port_forwards: 0 });
    // There is no quarantine here: only the forward that the edge still has keeps the address from being
    // reused.
    const wanted = { subnet_id: network.app };
    const next = await servers.create(wanted);
    expect((await servers.server(next.server.id)).interfaces[0].private_ip).not.toBe(address);
    expect(
      await servers.owned.post("/servers", servers.body({ ...wanted, private_ip: address })),
    ).toMatchObject({ status: 409, body: { code: "address_in_use" } });

    expect((await world.settle()).get(network.id)?.gateway?.port_forwards).toEqual([]);
    expect(await forwards(gateway)).toEqual([]);
    const heir = await servers.create({ ...wanted, private_ip: address });
    expect((await servers.server(heir.server.id)).interfaces[0].private_ip).toBe(address);
  });
});

describe("the database refuses", () => {
  it("a port forwarded where the gateway does not serve, and one that leads to another server", async () => {
    const { network, gateway, server } = await served();
    const other = await world.server(network.app);
    const { port_forward: forward } = await must(world.forward(gateway, server.id));
    await expect(
      servers.rows("update port_forward set subnet_id = $1 where id = $2", [network.mgmt, forward.id]),
    ).rejects.toMatchObject({ constraint: "port_forward_served" });
    await expect(
      servers.rows("update port_forward set server_id = $1 where id = $2", [other.id, forward.id]),
    ).rejects.toMatchObject({ constraint: "port_forward_kept" });
    await expect(
      servers.rows("update public_ip set gateway_id = null where id = $1", [gateway.public_ip.id]),
    ).rejects.toMatchObject({ constraint: "gateway_kept" });
    await expect(
      servers.rows("update public_ip set server_id = $1, held_by = $1 where id = $2", [
        server.id,
        gateway.public_ip.id,
      ]),
    ).rejects.toMatchObject({ constraint: "public_ip_of_one" });
  });
});
