import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeAttachment, fakeFirewall } from "../../testing/fake-firewalls.ts";
import { fakeGateway } from "../../testing/fake-gateways.ts";
import { fakePublicIp } from "../../testing/fake-public-ips.ts";
import { fakeSshKey } from "../../testing/fake-records.ts";
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

test("impossible actions are listed before anything is sent, and are not sent", async () => {
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

test("a resource that was refused meanwhile is named with its reason, the others are done", async () => {
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
  const end = await ada.submit(path, "/servers/selected", { act: "delete", ids, confirm_name: "2" });
  expect(end.status).toBe(409);
  const text = await end.text();
  expect(text.match(/accepted/g)).toHaveLength(1);
  expect(text.match(/refused/g)).toHaveLength(1);
});

test("deleting one resource requires its name, and an action that is not destructive requires no confirmation", async () => {
  const [id = ""] = idsOf("app-1");
  const path = reviewPath("delete", [id]);
  expect(await ada.page(path)).toContain('data-confirm="app-1"');
  const refused = await ada.submit(path, "/servers/selected", { act: "delete", ids: id, confirm_name: "1" });
  expect(refused.status).toBe(422);
  expect(world.api.state.server(id)?.deletion).toBe(null);
  const end = await ada.submit(path, "/servers/selected", { act: "delete", ids: id, confirm_name: "app-1" });
  expect(end.status).toBe(200);
  expect(world.api.state.server(id)?.deletion).not.toBe(null);
  expect(await ada.page(reviewPath("reboot", idsOf("app-2")))).not.toContain("confirm_name");
});

test("a form that is sent twice acts once", async () => {
  const ids = idsOf("app-1");
  const before = world.api.state.jobs.length;
  const fields = { act: "reboot", ids, idempotency_key: "once" };
  const path = reviewPath("reboot", ids);
  for (let time = 0; time < 2; time += 1)
    expect((await ada.submit(path, "/servers/selected", fields)).status).toBe(200);
  expect(world.api.state.jobs).toHaveLength(before + 1);
});

test("an empty selection, an unknown action and other organisations' servers redirect to the list without an error", async () => {
  for (const path of [
    "/servers/selected",
    reviewPath("stop", []),
    reviewPath("explode", idsOf("app-1")),
    reviewPath("stop", ["srv_00000000000000000000000000", "net_x"]),
  ])
    expect(await ada.page(path)).toContain("Nothing was chosen");
  const answer = await ada.submit("/servers", "/servers/selected", { act: "explode", ids: idsOf("app-1") });
  expect(answer.status).toBe(422);
});

describe("of every product with a list", () => {
  const key = (name: string) =>
    fakeSshKey({ name, public_key: `ssh-ed25519 ${btoa(name.repeat(8))} ${name}` });

  /**
   * Two resources for which the action is available, and the reason why it is not for the third; SSH keys have no
   * third.
   */
  function seeded(page: string): { can: string[]; cannot: string[]; why: string } {
    const { state } = world.api;
    const [server] = state.servers;
    const [network, ...empty] = state.networks;
    if (server === undefined || network === undefined) throw new Error("no server");
    if (page === "/ssh-keys") {
      state.sshKeys.push(key("laptop"), key("desk"));
      return { can: state.sshKeys.map(({ id }) => id), cannot: [], why: "" };
    }
    if (page === "/networks") {
      const why = `It still has subnets: ${network.subnets.map(({ name }) => name).join(", ")}`;
      return { can: empty.map(({ id }) => id), cannot: [network.id], why };
    }
    if (page === "/firewalls") {
      const [web, ssh, used] = ["web", "ssh", "used"].map((name) => fakeFirewall({ name, rules: [] }));
      if (web === undefined || ssh === undefined || used === undefined) throw new Error("no firewall");
      state.firewalls.push(web, ssh, used);
      used.attachments.push(fakeAttachment(state, { server_id: server.id }));
      return { can: [web.id, ssh.id], cannot: [used.id], why: "Detach it everywhere first" };
    }
    if (page === "/gateways") {
      const refused = { allowed: false, code: "in_use" as const, reason: "It forwards tcp 443" };
      const gateways = ["one", "two", "used"].map((name) => fakeGateway(name, network, [], "203.0.113.77"));
      const [one, two, used] = gateways;
      if (one === undefined || two === undefined || used === undefined) throw new Error("no gateway");
      state.gateways.push(one, two, { ...used, actions: { ...used.actions, delete: refused } });
      return { can: [one.id, two.id], cannot: [used.id], why: refused.reason };
    }
    const [one, two] = [fakePublicIp("203.0.113.5"), fakePublicIp("203.0.113.6")];
    const used = fakePublicIp("203.0.113.7", server);
    state.publicIps.push(one, two, used);
    return { can: [one.id, two.id], cannot: [used.id], why: "The address is attached to a server" };
  }

  test.each([
    ["/ssh-keys", "delete", "Delete 2 keys?", "DELETE"],
    ["/networks", "delete", "Delete 2 networks?", "DELETE"],
    ["/gateways", "delete", "Delete 2 gateways?", "DELETE"],
    ["/firewalls", "delete", "Delete 2 firewalls?", "DELETE"],
    ["/public-ips", "release", "Release 2 addresses?", "DELETE"],
  ] as const)(
    "%s: several are changed at once, after a page that shows which and why not",
    async (page, act, title, method) => {
      const { can, cannot, why } = seeded(page);
      expect(can).toHaveLength(2);
      const list = await ada.page(page);
      for (const id of [...can, ...cannot]) expect(list).toContain(`id="choose-${id}"`);
      expect(list).toContain(`action="${page}/selected"`);
      const path = `${page}/selected?${new URLSearchParams([["act", act], ...[...can, ...cannot].map((id) => ["ids", id])])}`;
      const review = await ada.page(path);
      expect(review).toContain(title);
      expect(review).toContain(why);
      for (const id of cannot) expect(review).not.toContain(`name="ids" value="${id}"`);
      const before = world.api.calls.length;
      for (const confirm_name of ["", "1", "two"]) {
        const refused = await ada.submit(path, `${page}/selected`, { act, ids: can, confirm_name });
        expect(refused.status).toBe(422);
        expect(await refused.text()).toContain("Type 2 to confirm.");
      }
      expect(world.api.calls.slice(before).filter((call) => call.startsWith(method))).toEqual([]);
      const end = await ada.submit(path, `${page}/selected`, { act, ids: can, confirm_name: "2" });
      expect(end.status).toBe(200);
      const asked = world.api.calls.slice(before).filter((call) => call.startsWith(method));
      expect(asked).toEqual(can.map((id) => `${method} ${page}/${id}`));
    },
  );

  test("a viewer has no checkboxes", async () => {
    seeded("/firewalls");
    const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
    const list = await vera.page("/firewalls");
    expect(list).not.toContain('name="ids"');
    expect(list).not.toContain("/firewalls/selected");
  });

  test("identifiers of another product are ignored", async () => {
    const { can } = seeded("/firewalls");
    expect(await ada.page(`/public-ips/selected?act=release&ids=${can[0]}`)).toContain("Nothing was chosen");
  });
});
