import { randomBytes } from "node:crypto";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { madeUpload } from "@kule/api/testing/made-upload";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../testing/panel-world.ts";
import { done } from "../testing/scene-api.ts";
import { everything } from "../testing/scenes/everything.ts";
import type { FactsOf } from "../testing/scenes/scene.ts";
import type { Visitor } from "../testing/visitor.ts";

type World = PanelWorld<FactsOf<typeof everything>>;

/** Tests add to it; none changes what is there. */
let world: World;
let ada: Visitor;
/** Of each list, by its page: one with the label `role=first`, and one of the other region named `zebra`. */
let first: { readonly [page: string]: string };
let other: { readonly [page: string]: string };
beforeAll(async () => {
  world = await startPanelWorld(everything);
  const { networks, gateways, firewalls, loadBalancers, freeIpId, sshKeys, domains, certificates } =
    world.facts;
  first = {
    "/networks": networks.shop ?? "",
    "/firewalls": firewalls.web,
    "/gateways": gateways.out,
    "/load-balancers": loadBalancers.front,
    "/ssh-keys": sshKeys.laptop,
    "/public-ips": freeIpId,
    "/domains": domains.shop,
    "/certificates": certificates.uploaded,
  };
  for (const [page, id] of Object.entries(first))
    await done(world.real.acme.patch(`${page}/${id}`, { labels: { role: "first" } }));
  other = await addZebras(world);
});
beforeEach(async () => {
  ada = await world.signedIn("ada");
});
afterAll(() => world?.stop());

/** In region ank1, which gets an agent and public addresses. */
async function addZebras({ facts, real }: World): Promise<typeof other> {
  const { acme, operator } = real;
  const { secret } = await done(operator.post("/regions/ank1/agent-tokens", { name: "agent" }));
  const health = {
    agent_version: "0.1.0",
    agent_name: "ank1-a",
    hypervisor: { kind: "proxmox", reachable: true, version: "9.1.4" },
    edge: { reachable: true },
    public_key: randomBytes(32).toString("base64"),
  };
  await done(new ApiCaller(real.app, secret).post("/agent/health", health));
  const pool = { region: "ank1", name: "public", gateway: "203.0.114.1", prefix_length: 24 };
  const { id: poolId } = await done(operator.post("/ip-pools", pool));
  await done(operator.post(`/ip-pools/${poolId}/ranges`, { cidr: "203.0.114.96/29" }));
  const allocation = { organisation_id: facts.acme.id, addresses: ["203.0.114.98", "203.0.114.99"] };
  await done(operator.post(`/ip-pools/${poolId}/allocations`, allocation));
  const there = { name: "zebra", region: "ank1" };
  const { network } = await done(acme.post("/networks", there));
  const { firewall } = await done(acme.post("/firewalls", there));
  const ip = await done(acme.post("/public-ips", { region: "ank1", address: "203.0.114.99" }));
  const { gateway } = await done(acme.post("/gateways", { name: "zebra", network_id: network.id }));
  const { subnet } = await done(acme.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }));
  const { load_balancer: balancer } = await done(
    acme.post("/load-balancers", { name: "zebra", subnet_id: subnet.id }),
  );
  const key = await done(acme.post("/ssh-keys", { name: "zebra", public_key: ed25519Line() }));
  const { domain } = await done(acme.post("/domains", { name: "zebra.example" }));
  const material = await madeUpload(["zebra.example"]);
  const { certificate } = await done(acme.post("/certificates", { ...there, type: "uploaded", ...material }));
  return {
    "/domains": domain.id,
    "/certificates": certificate.id,
    "/networks": network.id,
    "/firewalls": firewall.id,
    "/gateways": gateway.id,
    "/load-balancers": balancer.id,
    "/ssh-keys": key.id,
    "/public-ips": ip.id,
  };
}

const firstOf = (page: string) => `id="${first[page]}"`;
const otherOf = (page: string) => `id="${other[page]}"`;

describe.each([
  "/networks",
  "/firewalls",
  "/gateways",
  "/load-balancers",
  "/ssh-keys",
  "/domains",
  "/certificates",
])("%s", (page) => {
  test("is filtered by a part of a name, as typed", async () => {
    const html = await ada.page(`${page}?q=ebr`);
    expect(html).toContain(otherOf(page));
    expect(html).not.toContain(firstOf(page));
    expect(html).toContain('value="ebr"');
  });
});

test("addresses are filtered by a part of them", async () => {
  const html = await ada.page("/public-ips?q=203.0.114.9");
  expect(html).toContain(otherOf("/public-ips"));
  expect(html).not.toContain(firstOf("/public-ips"));
});

describe.each(["/networks", "/firewalls", "/gateways", "/load-balancers", "/public-ips", "/certificates"])(
  "%s",
  (page) => {
    test("is filtered by region", async () => {
      const html = await ada.page(`${page}?region=ank1`);
      expect(html).toContain(otherOf(page));
      expect(html).not.toContain(firstOf(page));
      expect(html).toMatch(/value="ank1" selected/);
    });
  },
);

describe.each([
  "/networks",
  "/firewalls",
  "/gateways",
  "/load-balancers",
  "/ssh-keys",
  "/public-ips",
  "/domains",
  "/certificates",
])("%s", (page) => {
  test("is filtered by labels, and explains an invalid selector", async () => {
    const html = await ada.page(`${page}?labels=role%3Dfirst`);
    expect(html).toContain(firstOf(page));
    expect(html).not.toContain(otherOf(page));
    const wrong = await ada.get(`${page}?labels=a+b`);
    expect(wrong.status).toBe(200);
    expect(await wrong.text()).toContain('id="labels-problem"');
  });

  test("says that nothing matches, and links to the unfiltered list, where the filters leave nothing", async () => {
    const turkish = await world.signedIn("ada", { "accept-language": "tr" });
    const html = await turkish.page(`${page}?labels=role%3Dnobody`);
    expect(html).toContain("Eşleşen bir şey yok");
    expect(html).toMatch(new RegExp(`href="${page}"[^>]*>\\s*Süzgeçleri temizle`));
  });
});

describe.each([
  ["/networks", "name"],
  ["/firewalls", "name"],
  ["/gateways", "name"],
  ["/load-balancers", "name"],
  ["/ssh-keys", "name"],
  ["/domains", "name"],
  ["/certificates", "name"],
  ["/public-ips", "address"],
])("%s", (page, key) => {
  test(`is sorted by ${key}, either way, and says so`, async () => {
    for (const [sort, sign] of [
      [key, 1],
      [`-${key}`, -1],
    ] as const) {
      const html = await ada.page(`${page}?sort=${sort}`);
      expect(Math.sign(html.indexOf(otherOf(page)) - html.indexOf(firstOf(page)))).toBe(sign);
      expect(html).toMatch(new RegExp(`value="${sort}" selected`));
    }
    expect(await ada.page(`${page}?sort=shoe-size`)).toMatch(/value="-created_at" selected/);
  });
});

test("a name typed with capitals is found, Turkish ones included, and a key with capitals by small letters", async () => {
  const { acme } = world.real;
  const { network } = await done(acme.post("/networks", { name: "iller", region: "ist1" }));
  for (const typed of ["Iller", "%C4%B0ller"])
    expect(await ada.page(`/networks?q=${typed}`)).toContain(`id="${network.id}"`);
  const key = await done(acme.post("/ssh-keys", { name: "Work desk", public_key: ed25519Line() }));
  for (const typed of ["Wor", "wor"])
    expect(await ada.page(`/ssh-keys?q=${typed}`)).toContain(`id="${key.id}"`);
});

test("the next page of a filtered list is filtered, too", async () => {
  for (let index = 0; index < 21; index++)
    await done(world.real.acme.post("/networks", { name: `many-${index + 10}`, region: "ist1" }));
  const html = await ada.page("/networks?q=many&region=ist1&sort=name");
  const [, next = ""] =
    /href="(\/networks\?q=many&amp;region=ist1&amp;sort=name&amp;cursor=[^"]+)"/.exec(html) ?? [];
  const [last] = await world.real.list("/networks?name=many-30");
  expect(html).not.toContain(`id="${last.id}"`);
  const rest = await ada.page(next.replaceAll("&amp;", "&"));
  expect(rest.match(/id="net_[^"]*"/g)).toEqual([`id="${last.id}"`]);
});
