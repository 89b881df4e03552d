// An organisation's quotas and usage, with API, worker, agent and lab as processes of their own.

import type { Schemas } from "@kule/contract/schemas";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

let world: RegionWorld;
beforeAll(async () => {
  world = await startRegionWorld({ leaseSeconds: 10, removalBufferSeconds: 3600 });
  world.startAgent();
}, 180_000);
afterAll(() => world?.end());

async function done(answer: { data?: unknown; error?: unknown }): Promise<Schemas["Job"]> {
  const { job } = (answer.data ?? {}) as { job?: { id: string } };
  if (job === undefined) throw new Error(JSON.stringify(answer.error));
  const ended = await world.untilDone(job.id);
  expect(ended.status, JSON.stringify(ended.error)).toBe("succeeded");
  return ended;
}

it("concurrent requests at two processes of the API get what the quota allows, and no more", {
  timeout: 120_000,
}, async () => {
  const second = await world.addApi();
  const { data: organisation } = await world.operator.POST("/organisations", {
    body: { slug: "racers", name: "Racers" },
  });
  const id = organisation?.id ?? "";
  const limits = { servers: 5, vcpu: 3 };
  await world.operator.PUT("/organisations/{organisation_id}/quotas", {
    params: { path: { organisation_id: id } },
    body: { limits },
  });
  const origins = [new URL(world.apiUrl).origin, second.origin];
  const ask = async (n: number): Promise<{ status: number; body: { code?: string } }> => {
    const answer = await fetch(`${origins[n % 2]}/api/v1/servers`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${world.operatorToken}`,
        "kule-organisation": id,
        "content-type": "application/json",
      },
      body: JSON.stringify({ name: `racer-${n}`, region: "lab1", image: "ubuntu-24.04", package: "s" }),
    });
    // Too long a wait for the organisation's lock on a busy machine: nothing was done, retry.
    if (answer.status === 503) return ask(n);
    return { status: answer.status, body: (await answer.json()) as { code?: string } };
  };
  const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => ask(n)));
  expect(answers.filter(({ status }) => status === 202)).toHaveLength(3);
  const refused = answers.filter(({ status }) => status !== 202);
  expect(new Set(refused.map(({ status, body }) => `${status} ${body.code}`))).toEqual(
    new Set(["409 quota_exceeded"]),
  );
  const { data: quotas } = await world.operator.GET("/quotas", {
    params: { header: { "Kule-Organisation": id } },
  });
  expect(quotas?.items.find(({ name }) => name === "vcpu")).toMatchObject({ limit: 3, used: 3 });
  expect(quotas?.items.find(({ name }) => name === "servers")).toMatchObject({ limit: 5, used: 3 });
  await second.process.end();
});

it("the usage agrees with the lifetimes of servers and addresses by jobs and requests", {
  timeout: 180_000,
}, async () => {
  const region = "lab1";
  const { data: pool } = await world.operator.POST("/ip-pools", {
    body: { region, name: "public", gateway: "203.0.113.1", prefix_length: 24 },
  });
  const poolPath = { params: { path: { ip_pool_id: pool?.id ?? "" } } };
  const { data: me } = await world.organisation.GET("/organisation", {});
  await world.operator.POST("/ip-pools/{ip_pool_id}/ranges", {
    ...poolPath,
    body: { cidr: "203.0.113.0/29" },
  });
  await world.operator.POST("/ip-pools/{ip_pool_id}/allocations", {
    ...poolPath,
    body: { organisation_id: me?.id ?? "", count: 1 },
  });

  const created = await world.createServer("counted");
  const { id } = created.server;
  const path = { params: { path: { server_id: id } } };
  const made = await done({ data: created });
  const { data: ip } = await world.organisation.POST("/public-ips", { body: { region } });
  const power = async (action: Schemas["ServerPowerRequest"]["action"]) =>
    done(await world.organisation.POST("/servers/{server_id}/power", { ...path, body: { action } }));
  const stopped = await power("stop");
  const started = await power("start");
  const resized = await done(
    await world.organisation.POST("/servers/{server_id}/resize", {
      ...path,
      body: { package: "m", allow_restart: true },
    }),
  );
  const removed = await done(await world.organisation.DELETE("/servers/{server_id}", path));
  const back = await done(await world.organisation.POST("/servers/{server_id}/cancel-deletion", path));
  const purge = { params: { path: { server_id: id }, query: { purge: true } } };
  const gone = await done(await world.organisation.DELETE("/servers/{server_id}", purge));
  const { response } = await world.organisation.DELETE("/public-ips/{public_ip_id}", {
    params: { path: { public_ip_id: ip?.id ?? "" } },
  });
  expect(response.status).toBe(204);

  const seconds = (from: Schemas["Job"], to: Schemas["Job"]) =>
    (Date.parse(to.finished_at ?? "") - Date.parse(from.finished_at ?? "")) / 1000;
  const small = seconds(made, stopped) + seconds(started, resized);
  const large = seconds(resized, removed) + seconds(back, gone);
  const { data: byServer } = await world.organisation.GET("/usage/summary", {
    params: { query: { group_by: "resource", resource: id } },
  });
  const [counted] = byServer?.items ?? [];
  // The times of jobs are shown in milliseconds; usage is exact.
  expect(counted?.compute_seconds).toBeCloseTo(small + large, 1);
  expect(counted?.vcpu_seconds).toBeCloseTo(small + 2 * large, 1);
  expect(counted?.disk_seconds).toBeCloseTo(seconds(made, gone), 1);
  expect(counted?.disk_gb_seconds).toBeCloseTo(40 * seconds(made, resized) + 80 * seconds(resized, gone), 0);

  const { data: ofAddress } = await world.organisation.GET("/usage/segments", {
    params: { query: { resource: ip?.id ?? "" } },
  });
  const [taken, ...others] = ofAddress?.items ?? [];
  expect([taken?.kind, taken?.end === null, others]).toEqual(["public_ip", false, []]);
  expect(Math.abs(Date.parse(taken?.start ?? "") - Date.parse(ip?.created_at ?? ""))).toBeLessThan(1000);

  const read = async (file: string) =>
    (
      await fetch(`${world.apiUrl}/usage/${file}?resource=${id}`, {
        headers: { authorization: `Bearer ${world.organisationToken}` },
      })
    ).text();
  const lines = (await read("export.ndjson"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Schemas["UsageSegment"]);
  const exported = lines
    .filter(({ kind }) => kind === "compute")
    .reduce((sum, { start, end }) => sum + Date.parse(end ?? "") - Date.parse(start), 0);
  expect(exported / 1000).toBeCloseTo(small + large, 1);
  expect((await read("export.csv")).trim().split(/\r?\n/)).toHaveLength(lines.length + 1);
});
