// A server's life with API, agent and lab as processes of their own: everything a customer does with it.

import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RegionWorld, startRegionWorld } from "../region-world.ts";

let world: RegionWorld;
let agent: ReturnType<RegionWorld["startAgent"]>;
let organisation = "";
let server = "";
beforeAll(async () => {
  world = await startRegionWorld({ removalBufferSeconds: 3600 });
  agent = world.startAgent();
  const made = await call("POST", "/organisations", { slug: "life", name: "Life" });
  organisation = made.body.id;
}, 180_000);
afterAll(async () => {
  await agent?.end();
  await world?.end();
}, 60_000);

// biome-ignore lint/suspicious/noExplicitAny: bodies of whatever the step asks for
async function call(method: string, path: string, body?: object): Promise<{ status: number; body: any }> {
  const { origin } = new URL(world.apiUrl);
  const answer = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${world.operatorToken}`,
      "content-type": "application/json",
      ...(organisation === "" ? {} : { "kule-organisation": organisation }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? null : JSON.parse(text) };
}

/** Does one thing and waits for its job. */
async function act(method: string, path: string, body?: object) {
  const answer = await call(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  for (let looks = 0; ; looks += 1) {
    const job = (await call("GET", `/jobs/${answer.body.job.id}`)).body;
    if (job.done === true) {
      expect(job.status, JSON.stringify(job.error)).toBe("succeeded");
      return answer.body;
    }
    if (looks > 300) throw new Error(`job ${job.id} does not end\n${world.outputs()}`);
    await delay(200);
  }
}

const now = async () => (await call("GET", `/servers/${server}`)).body;
const vm = async () => {
  const vms = (await (await fetch(`${world.labControlUrl}/vms`)).json()) as {
    running: boolean;
    config: Record<string, string | number>;
    guest: { hostname?: string };
  }[];
  return vms.find(({ config }) => String(config.description ?? "").includes(`srv=${server} `));
};

it("A server is created, powered, resized, rebuilt, renamed, deleted, restored and purged", {
  timeout: 600_000,
}, async () => {
  const body = { name: "life-1", region: "lab1", image: "ubuntu-24.04", package: "s" };
  server = (await act("POST", "/servers", body)).server.id;
  const { interfaces } = await now();

  for (const [action, status] of [
    ["shutdown", "stopped"],
    ["start", "running"],
    ["reboot", "running"],
    ["reset", "running"],
    ["stop", "stopped"],
    ["start", "running"],
  ] as const) {
    await act("POST", `/servers/${server}/power`, { action });
    expect((await now()).status).toBe(status);
    expect((await vm())?.running).toBe(status === "running");
  }

  await act("POST", `/servers/${server}/resize`, { package: "m", allow_restart: true });
  expect(await now()).toMatchObject({ status: "running", package: { slug: "m" }, disk_gb: 80 });
  expect((await vm())?.config).toMatchObject({ cores: 2, memory: "4096" });

  const rebuilt = await act("POST", `/servers/${server}/rebuild`, {
    image: "ubuntu-24.04",
    confirm_name: "life-1",
  });
  expect(rebuilt.console_password).toMatch(/^[A-Za-z0-9]{20}$/);
  expect(await now()).toMatchObject({ status: "running", interfaces, disk_gb: 80 });

  await act("PATCH", `/servers/${server}`, { name: "life-2" });
  expect((await vm())?.config.name).toBe("life-2");

  await act("DELETE", `/servers/${server}`);
  expect((await vm())?.running).toBe(false);
  await act("POST", `/servers/${server}/cancel-deletion`);
  expect((await now()).status).toBe("running");
  await act("DELETE", `/servers/${server}?purge=true`);
  expect((await call("GET", `/servers/${server}`)).status).toBe(404);
  expect(await vm()).toBeUndefined();
});
