import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { seedNetworks } from "../../testing/seed-networks.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedNetworks(world.api.state);
  for (const { id, status } of world.api.state.servers) world.api.state.changeServer(id, { status });
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const idsOf = (...names: readonly string[]) =>
  names.map((name) => world.api.state.servers.find((server) => server.name === name)?.id ?? "");
const statuses = (...names: readonly string[]) =>
  idsOf(...names).map((id) => world.api.state.server(id)?.status);
const reviewPath = (act: string, ids: readonly string[]) =>
  `/servers/selected?${new URLSearchParams([["act", act], ...ids.map((id) => ["ids", id])])}`;

test("what cannot be done is said before anything is asked for, and is not asked for", async () => {
  const ids = idsOf("app-1", "app-2", "app-3");
  expect(statuses("app-1", "app-2", "app-3")).toEqual(["running", "running", "stopped"]);
  const path = reviewPath("stop", ids);
  const review = await ada.page(path);
  expect(review).toContain("Stop 2 servers?");
  expect(review).toContain("Not now");
  expect(review).not.toContain(`name="ids" value="${ids[2]}"`);
  const end = await ada.submit(path, "/servers/selected", { act: "stop", ids: ids.slice(0, 2) });
  expect(end.status).toBe(200);
  expect(statuses("app-1", "app-2", "app-3")).toEqual(["stopping", "stopping", "stopped"]);
});

test("one that was refused meanwhile is named with its reason, the others are done", async () => {
  const ids = idsOf("app-1", "app-2");
  const path = reviewPath("delete", ids);
  const other = world.api.state.server(ids[1] ?? "");
  await ada.page(path);
  world.api.state.changeServer(ids[1] ?? "", {
    protection: { delete: true, rebuild: false },
    actions: {
      ...other?.actions,
      delete: { allowed: false, code: "protected", reason: "It is protected" },
    } as never,
  });
  const end = await ada.submit(path, "/servers/selected", { act: "delete", ids });
  expect(end.status).toBe(409);
  const text = await end.text();
  expect(text.match(/accepted/g)).toHaveLength(1);
  expect(text.match(/refused/g)).toHaveLength(1);
});

test("a form that is sent twice does it once", async () => {
  const ids = idsOf("app-1");
  const before = world.api.state.jobs.length;
  const fields = { act: "reboot", ids, idempotency_key: "once" };
  const path = reviewPath("reboot", ids);
  for (let time = 0; time < 2; time += 1)
    expect((await ada.submit(path, "/servers/selected", fields)).status).toBe(200);
  expect(world.api.state.jobs).toHaveLength(before + 1);
});

test("nothing chosen, no such act and other people's servers lead to the list, not to an error", async () => {
  for (const path of [
    "/servers/selected",
    reviewPath("stop", []),
    reviewPath("explode", idsOf("app-1")),
    reviewPath("stop", ["srv_00000000000000000000000000", "net_x"]),
  ])
    expect(await ada.page(path)).toContain("No server was chosen");
  const answer = await ada.submit("/servers", "/servers/selected", { act: "explode", ids: idsOf("app-1") });
  expect(answer.status).toBe(422);
});
