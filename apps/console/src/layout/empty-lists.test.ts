import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../testing/console-world.ts";
import { seedEverything } from "../testing/seed-everything.ts";
import { Visitor } from "../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const primaryLinks = (html: string) =>
  [...html.matchAll(/<a class="button" data-kind="primary" href="([^"]*)"/g)].map(([, href = ""]) => href);

test.each(["/servers", "/networks", "/firewalls", "/gateways", "/public-ips", "/ssh-keys", "/tokens"])(
  "%s has one primary button, to the page that creates one, and none for a role that may not",
  async (page) => {
    const ada = await new Visitor(world).signIn();
    seedEverything(world.api.state);
    const full = primaryLinks(await ada.page(page));
    expect(full).toEqual([`${page}/new`]);
    expect((await ada.get(full[0] ?? "")).status).toBe(200);
    const { state } = world.api;
    for (const records of [state.servers, state.networks, state.firewalls, state.gateways, state.publicIps])
      records.length = 0;
    for (const records of [state.sshKeys, state.tokens]) records.length = 0;
    const empty = await ada.page(page);
    expect(primaryLinks(empty)).toEqual(full);
    expect(empty.slice(empty.indexOf('<div class="empty">'))).toContain(`href="${full[0]}"`);
    const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
    expect(primaryLinks(await vera.page(page))).toEqual([]);
  },
);
