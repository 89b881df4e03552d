import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeNetwork, fakeServer } from "../../testing/fake-records.ts";
import { fakeDrift } from "../../testing/fake-regions.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let visitor: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  visitor = new Visitor(world);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

function makeOperator(): void {
  const [ada] = world.api.state.users;
  if (ada === undefined) throw new Error("nobody is there");
  world.api.state.users[0] = {
    ...ada,
    permissions: [...ada.permissions, "operator:drift", "operator:regions"],
  };
}

test("operators see what differs and what room there is; others have no way there", async () => {
  await visitor.signIn();
  expect(await visitor.page("/servers")).not.toContain('href="/operator"');

  makeOperator();
  const operator = new Visitor(world);
  await operator.signIn();
  expect(await operator.page("/servers")).toContain('href="/operator"');
  expect(await operator.page("/operator")).toContain("All regions are as the records say");
  world.api.state.drift.push(fakeDrift("changed", 20_007), fakeDrift("foreign", 20_900));
  const page = await operator.page("/operator");
  for (const text of ["20007", "20900", "Foreign", "2 is wanted, 9 is there", "offline: pve3", "256 GB"])
    expect(page).toContain(text);
});

test("a server's page says when it was seen, what its guest told, and that it is out of date or changed", async () => {
  await visitor.signIn();
  const network = fakeNetwork({ name: "default", region: "ist1" }, true);
  const server = fakeServer({ name: "web-1", image: "ubuntu-24.04", package: "m" }, network, 0);
  world.api.state.servers.push({
    ...server,
    status: "running",
    power_state: "on",
    observed_at: new Date(Date.now() - 12_000).toISOString(),
    guest: {
      agent: true,
      cloud_init: "done",
      os: "Ubuntu 24.04.1 LTS",
      hostname: "web-1",
      addresses: ["10.0.0.5", "<b>fe80::1</b>"],
      boot_at: null,
    },
  });
  const fresh = await visitor.page(`/servers/${server.id}`);
  expect(fresh).toMatch(/1[2-9] seconds ago/);
  expect(fresh).toContain("Ubuntu 24.04.1 LTS");
  expect(fresh).toContain("10.0.0.5, &lt;b&gt;fe80::1");
  expect(fresh).not.toContain('id="stale-server"');
  world.api.state.changeServer(server.id, {
    observation: "stale",
    drift: {
      kind: "changed",
      since: new Date().toISOString(),
      differences: [{ field: "memory_mb", wanted: "4096", seen: "512" }],
    },
  });
  const stale = await visitor.page(`/servers/${server.id}`);
  expect(stale).toContain('id="stale-server"');
  expect(stale).toContain("4096 is wanted, 512 is there");
});
