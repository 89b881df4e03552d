import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { messagesOf } from "./messages/messages.ts";
import { remedyOf } from "./remedy.ts";
import type { Session } from "./session.ts";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import { servers } from "./testing/scenes/servers.ts";

const view = (path: string, session: Partial<Session> = {}) => ({
  messages: messagesOf("en"),
  path,
  session: {
    token: "",
    expiresAt: "",
    user: { email: "", name: "" },
    organisation: null,
    operator: false,
    permissions: ["quota:read"],
    formSecret: "",
    ...session,
  },
});
const operator = { operator: true };
const server = "srv_06ex2v3m8n4k6q1r5s7t9w0y2z";
const quota = { name: "vcpu", limit: 2, used: 2, asked: 1 } as const;

describe("where a refusal can be fixed", () => {
  test.each([
    ["the quotas of a full one", { code: "quota_exceeded", resource: "org_1", quota }, "/quotas"],
    ["the protection", { code: "protected", resource: server }, `/servers/${server}/settings#danger`],
    ["who has the name", { code: "name_taken", resource: server }, `/servers/${server}`],
    ["what still uses it", { code: "in_use", resource: "ip_1" }, "/public-ips/ip_1"],
    ["the job that is open", { code: "invalid_state", resource: "job_1" }, "/jobs/job_1"],
    ["the networks when one is full", { code: "subnet_exhausted", resource: "sub_1" }, "/networks"],
    ["the members when the last owner would go", { code: "last_owner", resource: null }, "/members"],
  ] as const)("%s", (_name, precondition, href) => {
    expect(remedyOf(precondition, view("/servers/new"))?.href).toBe(href);
  });

  test("links not to the page itself, but to the protection on it", () => {
    const taken = { code: "invalid_state", resource: server } as const;
    for (const here of [`/servers/${server}`, `/servers/${server}/resize`, `/servers/${server}?notice=x`])
      expect(remedyOf(taken, view(here))).toBeNull();
    expect(remedyOf(taken, view(`/servers/${server}x`))).not.toBeNull();
    const guarded = { code: "protected", resource: server } as const;
    expect(remedyOf(guarded, view(`/servers/${server}/delete`))?.href).toBe(
      `/servers/${server}/settings#danger`,
    );
  });

  test("links operators only to the installation's pages, and links to quotas only for those who may read them", () => {
    const region = { code: "vmid_exhausted", resource: "ist1" } as const;
    const pool = { code: "no_public_ip_available", resource: "ist1" } as const;
    expect(remedyOf(region, view("/servers/new"))).toBeNull();
    expect(remedyOf(pool, view("/public-ips"))).toBeNull();
    expect(remedyOf(region, view("/servers/new", operator))?.href).toBe("/operator/regions/ist1");
    expect(remedyOf(pool, view("/public-ips", operator))?.href).toBe("/ip-pools");
    const full = { code: "quota_exceeded", resource: "org_1", quota } as const;
    expect(remedyOf(full, view("/servers/new", { permissions: [] }))).toBeNull();
  });

  test("has no link when nothing is named, or the named resource has no page", () => {
    expect(remedyOf(undefined, view("/servers"))).toBeNull();
    for (const resource of [null, "sub_1", "srv_<b>", "https://elsewhere.test/"])
      expect(remedyOf({ code: "in_use", resource }, view("/servers"))).toBeNull();
  });
});

describe("on a page", () => {
  let world: PanelWorld<FactsOf<typeof servers>>;
  beforeEach(async () => {
    world = await startPanelWorld(servers);
  });
  afterEach(() => world.stop());

  test("a refused form and a dry run link to the quotas, in the page's language", async () => {
    const limits = { limits: { vcpu: 12 } };
    await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, limits));
    const ada = await world.signedIn("ada", { "accept-language": "tr" });
    const resize = `/servers/${world.facts.servers["web-1"]}/resize`;
    const fields = { package: "xxxl", intent: "resize", idempotency_key: "k", allow_restart: "true" };
    const refused = await ada.submit(resize, resize, fields);
    expect(refused.status).toBe(409);
    expect(await refused.text()).toMatch(/class="banner"[^>]*>.*?<a href="\/quotas">Kotalara bak<\/a>/s);
    const checked = await ada.page(`${resize}?package=xxxl`);
    expect(checked).toMatch(/class="blockers">.*?<a href="\/quotas">Kotalara bak<\/a>/s);
  });
});
