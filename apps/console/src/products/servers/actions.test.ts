import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import { becomeStale, haveRun, stopServer, takeAddresses } from "../../testing/server-states.ts";
import type { Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
let id: string;
let page: string;

beforeEach(async () => {
  world = await startPanelWorld(servers);
  id = world.facts.servers["web-1"];
  page = `/servers/${id}`;
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const act = (name: string, fields: Record<string, string | readonly string[]>) =>
  ada.submit(page, `${page}/${name}`, fields);
/** The password on a page that shows it once, as the first group. */
const shownPassword = /<code id="console-password">([^<]+)</;
const server = () => world.real.read(page);
/** A Windows server that runs; its page. */
async function createWindows(): Promise<string> {
  const body = { name: "desk", region: "ist1", image: "windows-2025", package: "l" };
  const { server } = await done(world.real.acme.post("/servers", body));
  await world.real.agent.work();
  return `/servers/${server.id}`;
}

describe("a refused form keeps the input, with the errors beside its fields", () => {
  test("a name that another server has", async () => {
    const answer = await act("settings", { name: "web-2" });
    expect(answer.status).toBe(409);
    const html = await answer.text();
    expect(html).toMatch(/id="field-name"[^>]*value="web-2"|value="web-2"[^>]*id="field-name"/);
    expect(html).toContain('id="name-problem"');
    expect(html).toContain("A server named web-2 exists in region ist1");
    // The form keeps its content while the page around it continues to refresh.
    expect(html).toMatch(/action="\/servers\/[^"]+\/settings"[^>]*hx-morph-skip/);
    expect((await server()).name).toBe("web-1");
  });

  test.each([
    ["bad key", "web", "labels--key-problem"],
    ["role", "not a value", "labels--value-problem"],
  ])("the label %s=%s", async (key, value, problem) => {
    const answer = await act("labels", { key, value, intent: "set" });
    expect(answer.status).toBe(422);
    const html = await answer.text();
    expect(html).toContain(`id="${problem}"`);
    expect(html).toContain(`value="${value}"`);
    expect((await server()).labels).toEqual({});
  });

  test.each(["rebuild", "delete"])("the wrong name before a %s", async (name) => {
    const answer = await act(name, { confirm_name: "web-9", image: "debian-13" });
    expect(answer.status).toBe(422);
    const html = await answer.text();
    expect(html).toContain('value="web-9"');
    expect(html).toMatch(/id="(rebuild|confirm)-name-problem"/);
    if (name === "rebuild") expect(html).toMatch(/<option value="debian-13" selected/);
    expect(await server()).toMatchObject({ status: "running", deletion: null });
    expect(await world.real.list(`/jobs?resource=${id}&kind=ServerRebuild&kind=ServerStop`)).toEqual([]);
  });
});

test("a guest has the chosen time to shut down", async () => {
  expect(await ada.page(page)).toMatch(/<option value="60" selected[^>]*>1 minute</);
  await act("power", { action: "shutdown", timeout_seconds: "300" });
  expect(world.api.sent.at(-1)?.body).toEqual({ action: "shutdown", timeout_seconds: 300 });
});

test("a rebuild keeps the server's keys, or uses the checked ones", async () => {
  const key = await done(world.real.acme.post("/ssh-keys", { name: "laptop", public_key: ed25519Line() }));
  const fields = { confirm_name: "web-1", image: "debian-13" };
  const wrong = await act("rebuild", { ...fields, confirm_name: "x", keys: "chosen", ssh_key_ids: [key.id] });
  const html = await wrong.text();
  expect(html).toMatch(/id="rebuild-keys" open/);
  expect(html).toMatch(/name="keys" value="chosen" checked/);
  expect(html).toMatch(new RegExp(`id="rebuild-${key.id}"[^>]*checked`));
  const sent = () => world.api.sent.at(-1)?.body;
  world.api.refuses = true;
  await act("rebuild", { ...fields, keys: "kept", ssh_key_ids: [key.id] });
  expect(sent()).toEqual(fields);
  await act("rebuild", { ...fields, keys: "chosen", ssh_key_ids: [key.id] });
  expect(sent()).toEqual({ ...fields, ssh_key_ids: [key.id] });
  await act("rebuild", { ...fields, keys: "chosen" });
  expect(sent()).toEqual({ ...fields, ssh_key_ids: [] });
});

test("the password of another user is shown as that user's", async () => {
  const refused = await act("password-reset", { when: "now", username: "not a user" });
  expect(refused.status).toBe(422);
  expect(await refused.text()).toMatch(/id="password-user" open[\s\S]*id="username-problem"/);
  const accepted = await act("password-reset", { when: "now", username: "deploy" });
  const html = await ada.page(accepted.headers.get("location") ?? "");
  expect(html).toContain('<dd class="mono">deploy</dd>');
  expect(html).toMatch(shownPassword);
  await world.real.agent.work();
  const usual = await act("password-reset", { when: "next_boot", username: "" });
  expect(world.api.sent.at(-1)?.body).toEqual({ when: "next_boot" });
  expect(await ada.page(usual.headers.get("location") ?? "")).toContain('<dd class="mono">ubuntu</dd>');
});

test("a Windows server accepts a password at once and never at its next start, and its page says when it can", async () => {
  const windows = await createWindows();
  const html = await ada.page(`${windows}/console-sessions`);
  expect(html).toMatch(/id="password-reset"[\s\S]*name="when" value="now"/);
  expect(html).not.toContain('value="next_boot"');
  expect(html).toContain("The guest agent of the running server sets a new password");
  const accepted = await ada.submit(windows, `${windows}/password-reset`, { when: "now", username: "" });
  expect(await ada.page(accepted.headers.get("location") ?? "")).toContain(
    "It works when the server&#39;s job has ended",
  );
  await world.real.agent.work();
  await stopServer(world.real, windows);
  const stopped = await ada.page(`${windows}/console-sessions`);
  expect(stopped).not.toContain('value="next_boot"');
  expect(stopped).toMatch(
    /<button[^>]*disabled[^>]*>\s*Reset it now|aria-disabled="true"[^>]*>\s*Reset it now/,
  );
  expect(stopped).toContain("its guest agent cannot set a password");
});

test("labels are added, changed and removed, and a duplicate is stored once", async () => {
  for (const [key, value] of [
    ["role", "web"],
    ["env", "prod"],
    ["role", "api"],
  ])
    expect((await act("labels", { key: key ?? "", value: value ?? "", intent: "set" })).status).toBe(303);
  expect((await server()).labels).toEqual({ role: "api", env: "prod" });
  await act("labels", { key: "env", row: "true", value: "prod", intent: "remove" });
  expect((await server()).labels).toEqual({ role: "api" });
  expect(await ada.page(page)).toContain('href="/servers?labels=role%3Dapi"');
});

test("both protections are independent switches, and a protected server's rebuild is unavailable", async () => {
  await act("protection", { of: "rebuild", protect: "true" });
  expect((await server()).protection).toEqual({ delete: false, rebuild: true });
  const html = await ada.page(`${page}/settings`);
  expect(html).toContain("The server is protected from being rebuilt");
  await act("protection", { of: "delete", protect: "true" });
  await act("protection", { of: "rebuild", protect: "false" });
  expect((await server()).protection).toEqual({ delete: true, rebuild: false });
});

test("a new password is on the next page once, and a repeat of the form says that it is no longer available", async () => {
  const fields = { when: "now", idempotency_key: "key-1" };
  const first = await act("password-reset", fields);
  const [, password = ""] = shownPassword.exec(await ada.page(first.headers.get("location") ?? "")) ?? [];
  expect(password).not.toBe("");
  expect(await ada.page(page)).not.toContain(password);
  expect(world.logged()).not.toContain(password);
  const repeat = await act("password-reset", fields);
  expect(await ada.page(repeat.headers.get("location") ?? "")).toContain("cannot be shown again");
  expect(await world.real.list("/jobs?kind=ServerPasswordReset")).toHaveLength(1);
});

test("an early destroy requires the name, and more than the permission to delete", async () => {
  await act("delete", { confirm_name: "web-1" });
  expect((await server()).status).toBe("pending_deletion");
  expect(await ada.page(page)).toContain('data-countdown=""');
  expect((await act("purge", { confirm_name: "" })).status).toBe(422);
  expect((await server()).status).toBe("pending_deletion");
  expect((await act("purge", { confirm_name: "web-1" })).status).toBe(303);
  expect((await server()).status).toBe("deleting");
});

test("a deletion lists the server's public addresses that are released and those that are kept, and no other server's", async () => {
  const { acme, agent, operator } = world.real;
  const pool = { region: "ist1", name: "public v6", gateway: "2001:db8::1", prefix_length: 64 };
  const { id: poolId } = await done(operator.post("/ip-pools", pool));
  await done(operator.post(`/ip-pools/${poolId}/ranges`, { cidr: "2001:db8::10/124" }));
  const allocation = { organisation_id: world.facts.acme.id, addresses: ["2001:db8::11"] };
  await done(operator.post(`/ip-pools/${poolId}/allocations`, allocation));
  const add = async (address: string, server_id: string): Promise<string> => {
    const body = { region: "ist1", address, delete_with_server: true };
    const ip = await done(acme.post("/public-ips", body));
    await done(acme.post(`/public-ips/${ip.id}/attach`, { server_id }));
    await agent.work();
    return `/public-ips/${ip.id}`;
  };
  // A server has at most one address of each version.
  const four = await add("203.0.113.10", id);
  const six = await add("2001:db8::11", id);
  await add("203.0.113.20", world.facts.servers["web-2"]);
  await done(acme.patch(six, { protection: { delete: true } }));
  const both = await ada.page(`${page}/settings`);
  expect(both).toContain("Released at the end of the removal: 203.0.113.10.");
  expect(both).toContain("Yours and free for another server after that: 2001:db8::11.");
  await done(acme.patch(four, { delete_with_server: false }));
  const kept = await ada.page(`${page}/settings`);
  expect(kept).toMatch(/after that: (203\.0\.113\.10, 2001:db8::11|2001:db8::11, 203\.0\.113\.10)\./);
  expect(kept).not.toContain("Released at the end");
  for (const ip of [four, six]) {
    await done(acme.post(`${ip}/detach`));
    await agent.work();
  }
  expect(await ada.page(`${page}/settings`)).not.toContain("free for another server after that");
});

describe("resize", () => {
  beforeEach(async () => {
    const limits = { limits: { vcpu: 12 } };
    await done(world.real.operator.put(`/organisations/${world.facts.acme.id}/quotas`, limits));
  });

  test("shows current and new size, the meaning of a restart and the remaining quota", async () => {
    const html = await ada.page(`${page}/resize?package=l`);
    expect(html).toContain("The server restarts");
    expect(html).toContain("vCPUs: 2 more");
    expect(html).toContain("Ready to resize.");
    expect(html).toContain('name="allow_restart" value="true"');
    const same = await ada.page(`${page}/resize`);
    expect(same).toContain("This is the size the server has.");
    expect(same).toMatch(/value="resize"[^>]*disabled/);
  });

  test("lists what prevents it, before and after the request", async () => {
    expect(await ada.page(`${page}/resize?package=xxxl`)).toContain("Can&#39;t resize yet");
    const answer = await ada.submit(`${page}/resize`, `${page}/resize`, {
      package: "xxxl",
      intent: "resize",
      allow_restart: "true",
    });
    expect(answer.status).toBe(409);
    expect(await answer.text()).toContain("vCPUs");
    expect((await server()).package.slug).toBe("m");
  });

  test("never restarts a server that the page called stopped", async () => {
    const resize = () =>
      ada.submit(`${page}/resize`, `${page}/resize`, {
        package: "l",
        disk: "keep",
        intent: "resize",
        allow_restart: "false",
      });
    expect((await resize()).status).toBe(409);
    expect(await server()).toMatchObject({ status: "running", package: { slug: "m" } });
    await stopServer(world.real, page);
    await resize();
    expect(await server()).toMatchObject({ status: "resizing", disk_gb: 80 });
  });
});

test("an address is reserved and attached from the server's page, and released", async () => {
  const { agent } = world.real;
  await act("take-address", { version: "4" });
  await agent.work();
  const { public_ips: taken } = await server();
  expect(taken).toHaveLength(1);
  const [ip] = taken;
  expect(await ada.page(`${page}/network`)).toContain(`Detach ${ip.address}`);
  await act("detach-address", { public_ip_id: ip.id });
  await agent.work();
  expect((await server()).public_ips).toEqual([]);
  await act("attach-address", { public_ip_id: ip.id });
  await agent.work();
  expect((await server()).public_ips).toHaveLength(1);
});

test("when no address is left, the server's page names the contact", async () => {
  await takeAddresses(world.real);
  const answer = await act("take-address", { version: "4" });
  expect(answer.status).toBe(409);
  expect(await answer.text()).toContain("ask the operator");
});

test("a server in a data subnet shows why it cannot have a public address", async () => {
  const { acme, agent } = world.real;
  const { subnet } = await done(
    acme.post(`/networks/${world.facts.networkId}/subnets`, { name: "db", tier: "data" }),
  );
  const body = { name: "db-1", region: "ist1", image: "debian-13", package: "s", subnet_id: subnet.id };
  const created = await done(acme.post("/servers", body));
  await agent.work();
  expect(await ada.page(`/servers/${created.server.id}/network`)).toContain(
    "in a data subnet, which never reaches the internet",
  );
});

test.each([
  ["labels", "/settings"],
  ["delete", "/settings"],
  ["rebuild", "/settings"],
  ["password-reset", "/console-sessions"],
  ["take-address", "/network"],
  ["power", ""],
])("the address of a refused form, %s, leads back to its tab", async (form, tab) => {
  const answer = await ada.get(`${page}/${form}`);
  expect(answer.status).toBe(303);
  expect(answer.headers.get("location")).toBe(`${page}${tab}`);
});

test("the header has the main address and the command that opens a shell, on every tab", async () => {
  const [{ private_ip: address }] = (await server()).interfaces;
  for (const tab of ["", "/network", "/console-sessions", "/jobs", "/usage", "/audit", "/settings"]) {
    const html = await ada.page(page + tab);
    expect(html, tab).toMatch(new RegExp(`<code id="server-ssh"[^>]*>ssh ubuntu@${address}</code>`));
    expect(html, tab).toContain('id="power"');
  }
  await act("take-address", { version: "4" });
  await world.real.agent.work();
  const [ip] = (await server()).public_ips;
  expect(await ada.page(page)).toContain(`ssh ubuntu@${ip.address}`);
  const windows = await ada.page(await createWindows());
  expect(windows).toContain('id="server-address"');
  expect(windows).not.toContain("server-ssh");
});

test("in Turkish a disabled action has its reason in Turkish", async () => {
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  await stopServer(world.real, page);
  expect(await turkish.page(page)).toContain("Sunucunun durumu “durduruldu” iken yapılamaz.");
  await done(world.real.acme.patch(page, { protection: { rebuild: true } }));
  expect(await turkish.page(`${page}/settings`)).toContain("Sunucu yeniden kurulmaya karşı korumalı.");
});

describe("the list", () => {
  test("is filtered by labels, and an invalid selector is explained in place of an error page", async () => {
    await done(world.real.acme.patch(page, { labels: { role: "web" } }));
    const html = await ada.page("/servers?labels=role%3Dweb");
    expect(html).toContain("web-1");
    expect(html).not.toContain("web-2");
    const wrong = await ada.get("/servers?labels=a+b");
    expect(wrong.status).toBe(200);
    const text = await wrong.text();
    expect(text).toContain('id="labels-problem"');
    expect(text).toContain('value="a b"');
  });

  test("shows the time of the last observation of an out-of-date server", async () => {
    await becomeStale(world.real, id, 600);
    expect(await ada.page("/servers")).toContain("as of 10 minutes ago");
    // The agent of Ankara is unreachable in the catalogue.
    expect(await ada.page("/servers")).toContain("Region Ankara 1 has never reported.");
  });
});

describe("SSH keys", () => {
  const good = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";

  test("a duplicate key is refused beside the key, and the input is kept", async () => {
    await ada.submit("/ssh-keys/new", "/ssh-keys/new", { name: "laptop", public_key: good });
    const answer = await ada.submit("/ssh-keys/new", "/ssh-keys/new", { name: "again", public_key: good });
    expect(answer.status).toBe(409);
    const html = await answer.text();
    expect(html).toContain('id="public_key-problem"');
    expect(html).toContain('value="again"');
    expect(html).toContain(good);
    // The existing key is one click away, on whichever page of the list it is.
    const [{ id }] = await world.real.list("/ssh-keys");
    expect(html).toContain(`href="/ssh-keys?q=laptop#${id}"`);
    expect(await ada.page("/ssh-keys?q=laptop")).toContain(`id="${id}"`);
  });

  test.each([
    ["-----BEGIN OPENSSH PRIVATE KEY-----", "Bu bir özel anahtar"],
    ["ssh-dss AAAAB3 ada", "Bu bir DSA anahtarı"],
    [`no-pty ${good}`, "Anahtar seçeneklerle başlıyor"],
    ["ssh-rsa-cert-v01@openssh.com AAAA ada", "Bu bir sertifika"],
    ["hello there", "Bu anahtar türü bilinmiyor"],
  ])("in Turkish %s is refused for what it is", async (text, said) => {
    const turkish = await world.signedIn("ada", { "accept-language": "tr" });
    const answer = await turkish.submit("/ssh-keys/new", "/ssh-keys/new", {
      name: "laptop",
      public_key: text,
    });
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain(said);
  });

  test("is renamed in place", async () => {
    await ada.submit("/ssh-keys/new", "/ssh-keys/new", { name: "laptop", public_key: good });
    const [key] = await world.real.list("/ssh-keys");
    await ada.submit("/ssh-keys", `/ssh-keys/${key.id}/settings`, { name: "work laptop" });
    expect(await ada.page("/ssh-keys")).toContain("work laptop");
  });
});

test("an invalid PTR name is shown again beside its field with the input", async () => {
  const { id: ip } = await done(world.real.acme.post("/public-ips", { region: "ist1" }));
  const answer = await ada.submit(`/public-ips/${ip}/settings`, `/public-ips/${ip}/settings`, {
    ptr: "not a name",
    delete_with_server: "on",
  });
  expect(answer.status).toBe(422);
  const html = await answer.text();
  expect(html).toContain('id="ptr-problem"');
  expect(html).toContain('value="not a name"');
  expect(html).toMatch(/name="delete_with_server" checked/);
  const good = await ada.submit(`/public-ips/${ip}/settings`, `/public-ips/${ip}/settings`, {
    ptr: "web.example.org",
  });
  expect(good.status).toBe(303);
});

test("usage shows its segments, filtered, and the files have the same filters", async () => {
  await haveRun(world.real, page, "2026-05-03T00:00:00Z", "2026-05-04T12:00:00Z");
  const html = await ada.page(`/usage/segments?month=2026-05&kind=compute&resource=${id}`);
  expect(html).toContain("1 day, 12 hours");
  expect(html).not.toContain("ongoing");
  expect(html).not.toContain("web-2");
  expect(html).toMatch(new RegExp(`/usage/export.csv\\?[^"]*resource=${id}`));
  expect((await ada.get("/usage/segments?label_selector=a+b")).status).toBe(422);
  await ada.get(`/usage/export.ndjson?resource=${id}&from=2026-11-01T00:00:00.000Z`);
  expect(world.api.calls.at(-1)).toContain(`resource=${id}`);
});
