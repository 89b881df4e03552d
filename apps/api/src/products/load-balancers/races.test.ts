import { afterAll, beforeAll, expect, it } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld, wellStatus } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
});
afterAll(() => world?.close());

const rounds = 6;
type LoadBalancer = Awaited<ReturnType<LoadBalancerWorld["get"]>>;

/** Runs the calls at once, many times over, each time with a new load balancer; none may end in an error of ours. */
async function race(
  prepare: () => Promise<LoadBalancer>,
  check: (lb: LoadBalancer, results: readonly unknown[]) => Promise<void>,
  ...calls: readonly ((lb: LoadBalancer) => Promise<unknown>)[]
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const lb = await prepare();
    const inTurn = round % 2 === 0 ? calls : calls.toReversed();
    const results = await Promise.all(inTurn.map((call) => call(lb)));
    for (const result of results) {
      const status = (result as { readonly status?: unknown } | null)?.status;
      if (typeof status === "number") expect(status).toBeLessThan(500);
    }
    await world.settle();
    await check(lb, round % 2 === 0 ? results : results.toReversed());
    expect(await world.violations()).toEqual([]);
  }
}

const remove = (lb: LoadBalancer) => world.owned.delete(`/load-balancers/${lb.id}`);
const addListener = (lb: LoadBalancer, port = 80) =>
  world.owned.post(`/load-balancers/${lb.id}/listeners`, { protocol: "tcp", port });
const isGone = async (lb: LoadBalancer) => {
  expect((await world.owned.get(`/load-balancers/${lb.id}`)).status).toBe(404);
};
const isCurrent = async (lb: LoadBalancer) => {
  const now = await world.get(lb.id);
  expect([now.status, now.observed_generation]).toEqual(["active", now.generation]);
};
const seen = (lb: LoadBalancer) => ({
  load_balancer_id: lb.id,
  slot: 1 as const,
  server_id: lb.machines[0]?.server_id ?? "",
  seen_after_ms: 0,
  status: wellStatus,
});

it("a delete ends the load balancer, whatever is changed at the same time", { timeout: 120_000 }, () =>
  race(
    () => world.active({ ha: true }),
    isGone,
    remove,
    addListener,
    (lb) => world.owned.patch(`/load-balancers/${lb.id}`, { algorithm: "source_hash" }),
  ),
);

it("two deletes at once are one", { timeout: 120_000 }, () =>
  race(() => world.create(), isGone, remove, remove),
);

it("a delete while the server's creation ends leaves nothing", { timeout: 120_000 }, () =>
  race(
    () => world.create(),
    isGone,
    async () => {
      const job = await world.servers.agent.claim();
      return job === null ? null : world.servers.agent.succeed(job);
    },
    remove,
  ),
);

it("a delete while a change is applied leaves nothing", { timeout: 120_000 }, () =>
  race(
    async () => {
      const lb = await world.active();
      await must(addListener(lb));
      return lb;
    },
    isGone,
    async () => {
      const job = await world.servers.agent.claim();
      return job === null ? null : world.servers.agent.end(job, { status: "succeeded" });
    },
    remove,
  ),
);

it(
  "a delete while the region reports the machine, and the worker looks after it, leaves nothing",
  {
    timeout: 120_000,
  },
  () =>
    race(
      () => world.active(),
      isGone,
      (lb) => world.report(seen(lb)),
      () => world.keep(),
      remove,
    ),
);

it("a change while the server's creation ends is brought to the machine", { timeout: 120_000 }, () =>
  race(
    () => world.create(),
    isCurrent,
    async () => {
      const job = await world.servers.agent.claim();
      return job === null ? null : world.servers.agent.succeed(job);
    },
    addListener,
  ),
);

it("edits at once are all brought to the machine", { timeout: 120_000 }, () =>
  race(
    () => world.active(),
    async (lb) => {
      await isCurrent(lb);
      expect((await world.get(lb.id)).listeners).toBe(3);
    },
    (lb) => addListener(lb, 1),
    (lb) => addListener(lb, 2),
    (lb) => addListener(lb, 3),
  ),
);

it("pairs of machines that are created at once have numbers and addresses of their own", {
  timeout: 120_000,
}, async () => {
  const made = await Promise.all(Array.from({ length: 6 }, () => world.post({ ha: true })));
  expect(made.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
  const addresses = made.map(({ body }) => body.load_balancer.private_ip);
  expect(new Set(addresses).size).toBe(6);
  await world.settle();
  expect(await world.violations()).toEqual([]);
});

it("a lost machine is replaced once by two workers", { timeout: 120_000 }, () =>
  race(
    async () => {
      const lb = await world.active();
      await world.report(seen(lb));
      await world.loseVm(lb.machines[0]?.server_id ?? "");
      return lb;
    },
    async (lb, results) => {
      const replaced = (results as { readonly replaced: number }[]).map((each) => each.replaced);
      expect(replaced.toSorted()).toEqual([0, 1]);
      expect((await world.get(lb.id)).machines[0]?.server_id).not.toBe(lb.machines[0]?.server_id);
    },
    () => world.keep(),
    () => world.keep(),
  ),
);

it("of two that want one public address at once, one gets it, whatever they are", {
  timeout: 240_000,
}, async () => {
  // In one network, so that both lock its row.
  const network = { id: world.network };
  for (const other of [
    (id: string) => world.post({ ha: true, public_ip: id }),
    (id: string) => world.post({ public_ip: id }),
    (id: string) => world.gateways.create(network, { public_ip: id }),
    (id: string) => world.owned.delete(`/public-ips/${id}`),
  ])
    for (const isFirst of [true, false]) {
      const { id } = await must(
        world.owned.post("/public-ips", { region: world.servers.region, version: 4 }),
      );
      const calls = [() => world.post({ ha: true, public_ip: id }), () => other(id)];
      const answers = await Promise.all((isFirst ? calls : calls.toReversed()).map((call) => call()));
      const statuses = answers.map(({ status }) => status).toSorted();
      // To whoever waited for a release the address is not there any more.
      expect(statuses[0]).toBeLessThan(300);
      expect([404, 409, 422]).toContain(statuses[1]);
      await world.settle();
      expect(await world.violations()).toEqual([]);
      for (const { body } of answers) {
        const { load_balancer, gateway } = body ?? {};
        if (load_balancer !== undefined)
          await must(world.owned.delete(`/load-balancers/${load_balancer.id}`));
        if (gateway !== undefined) await must(world.owned.delete(`/gateways/${gateway.id}`));
      }
      await world.settle();
      expect(await world.violations()).toEqual([]);
    }
});

it(
  "a delete of the load balancer and of its public address at once leaves neither",
  { timeout: 240_000 },
  () =>
    race(
      () => world.active({ ha: true, public_ip: "auto" }),
      async (lb) => {
        await isGone(lb);
        expect((await world.owned.get(`/public-ips/${lb.public_ip?.id}`)).status).toBe(404);
      },
      remove,
      (lb) => world.owned.delete(`/public-ips/${lb.public_ip?.id}`),
      () => world.keep(),
    ),
);
