import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../testing/console-world.ts";
import { Visitor } from "../testing/visitor.ts";

let world: ConsoleWorld;
beforeEach(async () => {
  world = await startConsoleWorld();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

test.each(["/servers", "/networks", "/firewalls", "/gateways", "/public-ips", "/ssh-keys", "/tokens"])(
  "%s: an empty list has one button to create the first entry, and none for a role that may not create one",
  async (page) => {
    const ada = await new Visitor(world).signIn();
    for (const records of [world.api.state.networks, world.api.state.sshKeys, world.api.state.tokens])
      records.length = 0;
    const emptyOf = (html: string) =>
      /<div class="empty">.*?(?=<section|<p class="hint">|<\/section)/s.exec(html)?.[0] ?? "";
    const html = await ada.page(page);
    const buttons = [...emptyOf(html).matchAll(/<a class="button" data-kind="primary" href="([^"]*)"/g)];
    expect(buttons).toHaveLength(1);
    const [, href = ""] = buttons[0] ?? [];
    if (href.startsWith("#")) expect(html).toContain(`id="${href.slice(1)}"`);
    else expect((await ada.get(href)).status).toBe(200);
    const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
    expect(await vera.page(page)).not.toMatch(/class="empty">.*?data-kind="primary"/s);
  },
);
