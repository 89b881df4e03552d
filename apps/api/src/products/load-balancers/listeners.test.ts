import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld } from "../../testing/load-balancer-world.ts";

let world: LoadBalancerWorld;
let path: string;
let id: string;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
  ({ id } = await world.active());
  path = `/load-balancers/${id}/listeners`;
});
afterAll(() => world?.close());

describe("the listeners of a load balancer", { timeout: 60_000 }, () => {
  test("have their defaults, and reach its machines whole", async () => {
    const { listener } = await must(world.owned.post(path, { protocol: "http", port: 80 }));
    expect(listener).toMatchObject({
      load_balancer_id: id,
      protocol: "http",
      port: 80,
      target_port: 80,
      certificate_ids: [],
      redirect_to_https: false,
      sticky: null,
      proxy_protocol: "none",
      idle_timeout_seconds: 60,
      allowed_cidrs: [],
      health_check: {
        protocol: "tcp",
        port: null,
        path: null,
        host: null,
        expected_codes: null,
        interval_seconds: 10,
        timeout_seconds: 5,
        healthy_threshold: 3,
        unhealthy_threshold: 2,
      },
    });
    expect(await must(world.owned.get(`${path}/${listener.id}`))).toEqual(listener);
    const payload = (await world.settle()).at(-1);
    expect(payload?.listeners).toMatchObject([{ id: listener.id, port: 80, certificates: [] }]);
  });

  test("are changed in part; a health check and a cookie as a whole", async () => {
    const { listener } = await must(
      world.owned.post(path, {
        protocol: "http",
        port: 8080,
        sticky: { cookie_name: "SERVERID", ttl_seconds: 60 },
        health_check: { protocol: "http", path: "/health", interval_seconds: 20 },
      }),
    );
    expect(listener.health_check).toMatchObject({ path: "/health", expected_codes: "200-399" });
    const changed = await must(
      world.owned.patch(`${path}/${listener.id}`, {
        target_port: 9000,
        sticky: null,
        health_check: { interval_seconds: 30 },
      }),
    );
    expect(changed.listener).toMatchObject({
      port: 8080,
      target_port: 9000,
      sticky: null,
      health_check: { protocol: "tcp", path: null, interval_seconds: 30 },
    });
    // What is changed must fit what is left as it is.
    const { body } = await world.owned.patch(`${path}/${listener.id}`, {
      health_check: { timeout_seconds: 10 },
    });
    expect(body.errors).toMatchObject([{ pointer: "/health_check/timeout_seconds", code: "conflicts_with" }]);
  });

  test("have a port each, also of two that are asked for at once", async () => {
    const answers = await Promise.all(
      [1, 2, 3].map(() => world.owned.post(path, { protocol: "tcp", port: 7000 })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
      code: "port_in_use",
      precondition: { name: "listener_port_free", resource: expect.stringMatching(/^lsn_/) },
    });
  });

  test("of https need a certificate, and no certificate can be named that is not there", async () => {
    const none = await world.owned.post(path, { protocol: "https", port: 443 });
    expect(none.body.errors).toMatchObject([{ pointer: "/certificate_ids", code: "required" }]);
    const strange = await world.owned.post(path, {
      protocol: "https",
      port: 443,
      certificate_ids: ["cert_01m8cx48sqfh0amvzz4ywd7v6v"],
    });
    expect(strange.body.errors).toMatchObject([{ pointer: "/certificate_ids/0", code: "not_found" }]);
    const redirect = await world.owned.post(path, { protocol: "http", port: 81, redirect_to_https: true });
    expect(redirect.body.precondition).toMatchObject({ name: "https_listener_present" });
  });

  test("refuse UDP with the reason", async () => {
    const { body } = await world.owned.post(path, { protocol: "udp", port: 5000 });
    expect(body.errors[0]).toMatchObject({ pointer: "/protocol", code: "not_one_of" });
    expect(body.errors[0].message).toContain("datagrams");
  });

  test("refuse what could become more than a value in a configuration, in place", async () => {
    const evil = "x\n    server evil 10.0.0.1:80";
    const { status, body } = await world.owned.post(path, {
      protocol: "http",
      port: 82,
      sticky: { cookie_name: evil },
      allowed_cidrs: [evil],
      health_check: { protocol: "http", path: `/${evil}`, host: evil, expected_codes: evil },
    });
    expect(status).toBe(422);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()).toEqual([
      "/allowed_cidrs/0",
      "/health_check/expected_codes",
      "/health_check/host",
      "/health_check/path",
      "/sticky/cookie_name",
    ]);
    const wrong = await world.owned.post(path, {
      protocol: "tcp",
      port: 70_000,
      health_check: { interval_seconds: 1 },
      colour: "red",
    });
    expect(wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      expect.arrayContaining(["/port", "/colour", "/health_check/interval_seconds"]),
    );
  });

  test("are removed, and are at most 32", async () => {
    const { items } = await must(world.owned.get(`${path}?limit=200`));
    for (const { id: listener } of items) await must(world.owned.delete(`${path}/${listener}`));
    expect((await world.owned.delete(`${path}/${items[0].id}`)).status).toBe(404);
    for (let port = 1; port <= 32; port += 1)
      await must(world.owned.post(path, { protocol: "tcp", port: 10_000 + port }));
    expect((await world.owned.post(path, { protocol: "tcp", port: 9 })).body.precondition).toMatchObject({
      name: "load_balancer_has_listener_room",
    });
    expect((await world.settle()).at(-1)?.listeners.length).toBe(32);
    expect((await world.get(id)).status).toBe("active");
  });
});
