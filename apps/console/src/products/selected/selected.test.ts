import { madeUpload } from "@kule/api/testing/made-upload";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const idsOf = (...names: readonly string[]) => names.map((name) => world.facts.servers[name] ?? "");
const serverNamed = (name: string) => world.real.read(`/servers/${world.facts.servers[name]}`);
const statuses = async (...names: readonly string[]) =>
  (await Promise.all(names.map(serverNamed))).map(({ status }) => status);
const reviewPath = (act: string, ids: readonly string[]) =>
  `/servers/selected?${new URLSearchParams([["act", act], ...ids.map((id) => ["ids", id])])}`;

test("impossible actions are listed before anything is sent, and are not sent", async () => {
  const ids = idsOf("app-1", "app-2", "app-3");
  expect(await statuses("app-1", "app-2", "app-3")).toEqual(["running", "running", "stopped"]);
  const path = reviewPath("stop", ids);
  const review = await ada.page(path);
  expect(review).toContain("Stop 2 servers?");
  expect(review).toContain("Not now");
  expect(review).not.toContain(`name="ids" value="${ids[2]}"`);
  const end = await ada.submit(path, "/servers/selected", { act: "stop", ids: ids.slice(0, 2) });
  expect(end.status).toBe(200);
  expect(await statuses("app-1", "app-2", "app-3")).toEqual(["stopping", "stopping", "stopped"]);
});

test("a resource that was refused meanwhile is named with its reason, the others are done", async () => {
  const ids = idsOf("app-1", "app-2");
  const path = reviewPath("delete", ids);
  await ada.page(path);
  await done(world.real.acme.patch(`/servers/${ids[1]}`, { protection: { delete: true } }));
  const end = await ada.submit(path, "/servers/selected", { act: "delete", ids, confirm_name: "2" });
  expect(end.status).toBe(409);
  const text = await end.text();
  expect(text.match(/accepted/g)).toHaveLength(1);
  expect(text.match(/refused/g)).toHaveLength(1);
  expect(text).toContain("The server is protected from deletion");
  expect(await statuses("app-1", "app-2")).toEqual(["pending_deletion", "running"]);
});

test("deleting one resource requires its name, and an action that is not destructive requires no confirmation", async () => {
  const [id = ""] = idsOf("app-1");
  const path = reviewPath("delete", [id]);
  expect(await ada.page(path)).toContain('data-confirm="app-1"');
  const refused = await ada.submit(path, "/servers/selected", { act: "delete", ids: id, confirm_name: "1" });
  expect(refused.status).toBe(422);
  expect((await serverNamed("app-1")).deletion).toBe(null);
  const end = await ada.submit(path, "/servers/selected", { act: "delete", ids: id, confirm_name: "app-1" });
  expect(end.status).toBe(200);
  expect((await serverNamed("app-1")).deletion).not.toBe(null);
  expect(await ada.page(reviewPath("reboot", idsOf("app-2")))).not.toContain("confirm_name");
});

test("a form that is sent twice acts once", async () => {
  const ids = idsOf("app-1");
  const fields = { act: "reboot", ids, idempotency_key: "once" };
  const path = reviewPath("reboot", ids);
  for (let time = 0; time < 2; time += 1)
    expect((await ada.submit(path, "/servers/selected", fields)).status).toBe(200);
  expect(await world.real.list(`/jobs?kind=ServerPower&resource=${ids[0]}`)).toHaveLength(1);
});

test("an empty selection, an unknown action and other organisations' servers redirect to the list without an error", async () => {
  const stranger = await addStranger();
  for (const path of [
    "/servers/selected",
    reviewPath("stop", []),
    reviewPath("explode", idsOf("app-1")),
    reviewPath("stop", [stranger, "srv_00000000000000000000000000", "net_x"]),
  ])
    expect(await ada.page(path)).toContain("Nothing was chosen");
  const answer = await ada.submit("/servers", "/servers/selected", { act: "explode", ids: idsOf("app-1") });
  expect(answer.status).toBe(422);
});

/** A server of another organisation. */
async function addStranger(): Promise<string> {
  const { operator } = world.real;
  const { id } = await done(operator.post("/organisations", { slug: "other", name: "Other" }));
  const body = { name: "theirs", region: "ist1", image: "debian-13", package: "s" };
  const { server } = await done(operator.with({ "Kule-Organisation": id }).post("/servers", body));
  return server.id;
}

describe("of every product with a list", () => {
  /**
   * Two resources for which the action is available, and the reason why it is not for the third; SSH keys have no
   * third.
   */
  async function seeded(page: string): Promise<{ can: string[]; cannot: string[]; why: string }> {
    const { acme, agent } = world.real;
    const { networks, subnets, servers, publicIps } = world.facts;
    const { shop = "", staging = "", office = "" } = networks;
    const server = servers["app-1"];
    const made = async (path: string, body: object) => done(acme.post(path, body));
    if (page === "/ssh-keys") {
      const keys = ["laptop", "desk"].map((name) => made(page, { name, public_key: ed25519Line() }));
      return { can: (await Promise.all(keys)).map(({ id }) => id), cannot: [], why: "" };
    }
    if (page === "/domains") {
      const add = async (name: string) => (await made(page, { name })).domain.id;
      const [one, two, used] = [
        await add("one.example"),
        await add("two.example"),
        await add("used.example"),
      ];
      await done(acme.patch(`${page}/${used}`, { protection: { delete: true } }));
      return { can: [one, two], cannot: [used], why: "used.example is protected against deletion" };
    }
    if (page === "/networks")
      return { can: [staging, office], cannot: [shop], why: "It still has subnets: app, jobs, admin, db" };
    if (page === "/firewalls") {
      const add = async (name: string) => (await made(page, { name, region: "ist1" })).firewall.id;
      const [web, ssh, used] = [await add("web"), await add("ssh"), await add("used")];
      await made(`/firewalls/${used}/attachments`, { server_id: server });
      return { can: [web, ssh], cannot: [used], why: "Detach it everywhere first" };
    }
    if (page === "/load-balancers") {
      const add = async (name: string) =>
        (await made(page, { name, subnet_id: subnets.app })).load_balancer.id;
      // It is possible in every state.
      return { can: [await add("one"), await add("two")], cannot: [], why: "" };
    }
    if (page === "/certificates") {
      const add = async (name: string) =>
        (
          await made(page, {
            ...{ name, type: "uploaded", region: "ist1" },
            ...(await madeUpload([`${name}.example`])),
          })
        ).certificate.id;
      const [one, two, used] = [await add("one"), await add("two"), await add("used")];
      const listener = { protocol: "https", port: 443, target_port: 8080, certificate_ids: [used] };
      await made("/load-balancers", { name: "front", subnet_id: subnets.app, listeners: [listener] });
      return { can: [one, two], cannot: [used], why: "Listeners use it." };
    }
    if (page === "/gateways") {
      const add = async (name: string, network_id: string, more = {}) =>
        (await made(page, { name, network_id, ...more })).gateway.id;
      const [one, two] = [await add("one", staging), await add("two", office)];
      const used = await add("used", shop, { subnet_ids: [subnets.jobs] });
      await made(`/gateways/${used}/port-forwards`, {
        ...{ protocol: "tcp", listen_port: 443, server_id: servers["jobs-1"], target_port: 443 },
      });
      await agent.work();
      return { can: [one, two], cannot: [used], why: "The gateway forwards tcp 443" };
    }
    const free = async () => (await made(page, { region: "ist1" })).id;
    const used = publicIps["203.0.113.10"] ?? "";
    return { can: [await free(), await free()], cannot: [used], why: "The address is attached to a server" };
  }

  test.each([
    ["/ssh-keys", "delete", "Delete 2 keys?", "DELETE"],
    ["/networks", "delete", "Delete 2 networks?", "DELETE"],
    ["/gateways", "delete", "Delete 2 gateways?", "DELETE"],
    ["/load-balancers", "delete", "Delete 2 load balancers?", "DELETE"],
    ["/domains", "delete", "Delete 2 domains?", "DELETE"],
    ["/certificates", "delete", "Delete 2 certificates?", "DELETE"],
    ["/firewalls", "delete", "Delete 2 firewalls?", "DELETE"],
    ["/public-ips", "release", "Release 2 addresses?", "DELETE"],
  ] as const)(
    "%s: several are changed at once, after a page that shows which and why not",
    async (page, act, title, method) => {
      const { can, cannot, why } = await seeded(page);
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
    await seeded("/firewalls");
    const vera = await world.signedIn("vera");
    const list = await vera.page("/firewalls");
    expect(list).not.toContain('name="ids"');
    expect(list).not.toContain("/firewalls/selected");
  });

  test("identifiers of another product are ignored", async () => {
    const { can } = await seeded("/firewalls");
    expect(await ada.page(`/public-ips/selected?act=release&ids=${can[0]}`)).toContain("Nothing was chosen");
  });
});
