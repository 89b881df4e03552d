import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Answer } from "../../testing/api-caller.ts";
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

const served = async (subnetId: string) =>
  servers.rows("select 1 from gateway_subnet where subnet_id = $1 and left_generation is null", [subnetId]);
/** The answers to two concurrent callers, many times over, each time with new resources. */
async function race<Made>(
  prepare: () => Promise<Made>,
  ...calls: ((made: Made) => Promise<Answer>)[]
): Promise<{ made: Made; statuses: number[]; codes: (string | null)[] }[]> {
  const rounds = [];
  for (let round = 0; round < 6; round += 1) {
    const made = await prepare();
    const answers = await Promise.all(
      (round % 2 === 0 ? calls : calls.toReversed()).map((call) => call(made)),
    );
    if (round % 2 === 1) answers.reverse();
    for (const { status } of answers) expect(status).toBeLessThan(500);
    rounds.push({
      made,
      statuses: answers.map(({ status }) => status),
      codes: answers.map(({ body }) => body?.code ?? null),
    });
    await world.settle();
    expect(await world.violations()).toEqual([]);
  }
  return rounds;
}

it("gives a network one gateway, and only that one an address", async () => {
  const used = async () => (await servers.rows("select 1 from public_address where state = 'used'")).length;
  const before = await used();
  const create = (network: { id: string; app: string }) =>
    world.create(network, { subnet_ids: [network.app] });
  const rounds = await race(() => world.network(), create, create, create);
  for (const { statuses } of rounds) expect(statuses.toSorted()).toEqual([202, 409, 409]);
  expect(await used()).toBe(before + rounds.length);
});

it("gives the last address to one of two networks", async () => {
  const spare = await servers.rows(
    `update public_address set allocated_to = null where allocated_to = $1 and state <> 'used' returning address`,
    [servers.organisation.id],
  );
  const rounds = await race(
    async () => {
      await servers.rows(
        `update public_address set allocated_to = $1, state = 'free', free_after = null where address = (
           select address from public_address where allocated_to is null and state in ('free', 'quarantined') limit 1)`,
        [servers.organisation.id],
      );
      return [await world.network(), await world.network()] as const;
    },
    ([one]) => world.create(one),
    ([, two]) => world.create(two),
  );
  for (const { statuses, codes } of rounds) {
    expect(statuses.toSorted()).toEqual([202, 409]);
    expect(codes).toContain("no_public_ip_available");
  }
  await servers.rows("update public_address set allocated_to = $1 where address = any ($2)", [
    servers.organisation.id,
    spare.map(({ address }: { address: string }) => address),
  ]);
});

it("serves no data subnet, whatever is requested concurrently", async () => {
  const rounds = await race(
    async () => {
      const network = await world.network();
      const gateway = await world.gateway(network, network.app);
      return { network, gateway, inside: await world.server(network.data) };
    },
    ({ network, gateway }) =>
      servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.data }),
    ({ gateway, inside }) => world.forward(gateway, inside.id),
    ({ network, gateway }) =>
      servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.mgmt }),
    ({ gateway }) => servers.owned.delete(`/gateways/${gateway.id}`),
    ({ network }) => world.create(network, { subnet_ids: [network.data] }),
    ({ network }) => servers.owned.patch(`/networks/${network.id}/subnets/${network.app}`, { tier: "data" }),
  );
  for (const { made, statuses } of rounds) {
    expect([statuses[0], statuses[1], statuses[4], statuses[5]]).toEqual([409, 409, 409, 422]);
    expect(await served(made.network.data)).toEqual([]);
  }
});

it("serves no subnet that is being deleted, and deletes none that is served", async () => {
  const rounds = await race(
    async () => {
      const network = await world.network();
      return { network, gateway: await world.gateway(network) };
    },
    ({ network, gateway }) =>
      servers.owned.post(`/gateways/${gateway.id}/subnets`, { subnet_id: network.mgmt }),
    ({ network }) => servers.owned.delete(`/networks/${network.id}/subnets/${network.mgmt}`),
  );
  for (const { statuses } of rounds) {
    const [attached = 0, deleted = 0] = statuses;
    expect([attached < 300, deleted < 300].filter(Boolean)).toHaveLength(1);
  }
});

it("forwards nothing into a subnet that is detached, nor by a gateway that is deleted", async () => {
  await race(
    async () => {
      const network = await world.network();
      const gateway = await world.gateway(network, network.app);
      return { network, gateway, server: await world.server(network.app) };
    },
    ({ gateway, server }) => world.forward(gateway, server.id),
    ({ network, gateway }) => servers.owned.delete(`/gateways/${gateway.id}/subnets/${network.app}`),
    ({ gateway }) => servers.owned.delete(`/gateways/${gateway.id}`),
    ({ gateway, server }) => world.forward(gateway, server.id),
  );
});

it("forwards nothing to a server that is destroyed concurrently", async () => {
  await race(
    async () => {
      const network = await world.network();
      const gateway = await world.gateway(network, network.app);
      const server = await world.server(network.app);
      await must(servers.owned.delete(`/servers/${server.id}?purge=true`));
      const destroy = await servers.agent.claim();
      if (destroy?.payload.kind !== "ServerDestroy") throw new Error("the destroy is not the next job");
      return { gateway, server, destroy };
    },
    ({ gateway, server }) => world.forward(gateway, server.id),
    ({ destroy }) => servers.agent.succeed(destroy, "off"),
  );
});

it("gives one address to one of a gateway, another gateway and a server", async () => {
  const rounds = await race(
    async () => {
      const [one, two] = [await world.network(), await world.network()];
      const server = await world.server(one.app);
      const ip = (await must(servers.owned.post("/public-ips", { region: servers.region }))).id as string;
      return { one, two, server, ip };
    },
    ({ one, ip }) => world.create(one, { public_ip: ip }),
    ({ two, ip }) => world.create(two, { public_ip: ip }),
    ({ server, ip }) => servers.owned.post(`/public-ips/${ip}/attach`, { server_id: server.id }),
  );
  for (const { made, statuses, codes } of rounds) {
    expect(statuses.toSorted()).toEqual([202, 409, 409]);
    expect(codes.filter((code) => code !== null)).toEqual(["already_attached", "already_attached"]);
    expect((await must(servers.owned.get(`/public-ips/${made.ip}`))).status).not.toBe("free");
  }
});
