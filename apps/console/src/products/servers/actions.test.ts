import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakePublicIp } from "../../testing/fake-public-ips.ts";
import { fakeNetwork, fakeServer, fakeSshKey, fakeSubnet } from "../../testing/fake-records.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
let id: string;
let page: string;

beforeEach(async () => {
  world = await startConsoleWorld();
  const network = fakeNetwork({ name: "default", region: "ist1" }, true);
  const subnet = fakeSubnet({ name: "app", tier: "app", cidr: "10.0.0.0/24" }, network);
  network.subnets.push({ id: subnet.id, name: subnet.name, tier: subnet.tier, cidr: subnet.cidr });
  world.api.state.networks.push(network);
  for (const [index, name] of ["web-1", "web-2"].entries())
    world.api.state.servers.push(fakeServer({ name, image: "ubuntu-24.04", package: "m" }, network, index));
  id = world.api.state.servers[0]?.id ?? "";
  page = `/servers/${id}`;
  world.api.state.changeServer(id, { status: "running", power_state: "on" });
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const act = (name: string, fields: Record<string, string | readonly string[]>) =>
  ada.submit(page, `${page}/${name}`, fields);
const server = () => world.api.state.server(id);

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
    expect(server()?.name).toBe("web-1");
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
    expect(server()?.labels).toEqual({});
  });

  test.each(["rebuild", "delete"])("the wrong name before a %s", async (name) => {
    const answer = await act(name, { confirm_name: "web-9", image: "debian-13" });
    expect(answer.status).toBe(422);
    const html = await answer.text();
    expect(html).toContain('value="web-9"');
    expect(html).toMatch(/id="(rebuild|confirm)-name-problem"/);
    if (name === "rebuild") expect(html).toMatch(/<option value="debian-13" selected/);
    expect(server()).toMatchObject({ status: "running", deletion: null });
    expect(world.api.state.jobs).toEqual([]);
  });
});

test("a guest has the chosen time to shut down", async () => {
  expect(await ada.page(page)).toMatch(/<option value="60" selected[^>]*>1 minute</);
  await act("power", { action: "shutdown", timeout_seconds: "300" });
  expect(world.api.sent.at(-1)?.body).toEqual({ action: "shutdown", timeout_seconds: 300 });
});

test("a rebuild keeps the server's keys, or uses the checked ones", async () => {
  const key = fakeSshKey({ name: "laptop", public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" });
  world.api.state.sshKeys.push(key);
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
  const done = await act("password-reset", { when: "now", username: "deploy" });
  const html = await ada.page(done.headers.get("location") ?? "");
  expect(html).toMatch(/<dd class="mono">deploy<\/dd>[\s\S]*Boğaz-8t4w-Kule-33rd/);
  const usual = await act("password-reset", { when: "next_boot", username: "" });
  expect(world.api.sent.at(-1)?.body).toEqual({ when: "next_boot" });
  expect(await ada.page(usual.headers.get("location") ?? "")).toContain('<dd class="mono">ubuntu</dd>');
});

test("a Windows server accepts a password at once and never at its next start, and its page says when it can", async () => {
  const windows = {
    slug: "windows-2025",
    name: "Windows Server 2025",
    os_family: "windows",
    default_user: "Administrator",
  } as const;
  world.api.state.changeServer(id, { image: windows });
  world.api.state.changeServer(id, { status: "running" });
  const html = await ada.page(`${page}/console-sessions`);
  expect(html).toMatch(/id="password-reset"[\s\S]*name="when" value="now"/);
  expect(html).not.toContain('value="next_boot"');
  expect(html).toContain("The guest agent of the running server sets a new password");
  const done = await act("password-reset", { when: "now", username: "" });
  expect(await ada.page(done.headers.get("location") ?? "")).toContain(
    "It works when the server&#39;s job has ended",
  );
  world.api.state.changeServer(id, { status: "stopped", power_state: "off", job_id: null });
  const stopped = await ada.page(`${page}/console-sessions`);
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
  expect(server()?.labels).toEqual({ role: "api", env: "prod" });
  await act("labels", { key: "env", row: "true", value: "prod", intent: "remove" });
  expect(server()?.labels).toEqual({ role: "api" });
  expect(await ada.page(page)).toContain('href="/servers?labels=role%3Dapi"');
});

test("both protections are independent switches, and a protected server's rebuild is unavailable", async () => {
  await act("protection", { of: "rebuild", protect: "true" });
  expect(server()?.protection).toEqual({ delete: false, rebuild: true });
  const html = await ada.page(`${page}/settings`);
  expect(html).toContain("The server is protected from being rebuilt");
  await act("protection", { of: "delete", protect: "true" });
  await act("protection", { of: "rebuild", protect: "false" });
  expect(server()?.protection).toEqual({ delete: true, rebuild: false });
});

test("a new password is on the next page once, and a repeat of the form says that it is no longer available", async () => {
  const fields = { when: "now", idempotency_key: "key-1" };
  const first = await act("password-reset", fields);
  expect(await ada.page(first.headers.get("location") ?? "")).toContain("Boğaz-8t4w-Kule-33rd");
  expect(await ada.page(page)).not.toContain("Boğaz");
  expect(world.logged()).not.toContain("Boğaz");
  const repeat = await act("password-reset", fields);
  expect(await ada.page(repeat.headers.get("location") ?? "")).toContain("cannot be shown again");
  expect(world.api.state.jobs).toHaveLength(1);
});

test("an early destroy requires the name, and more than the permission to delete", async () => {
  await act("delete", { confirm_name: "web-1" });
  expect(server()?.status).toBe("pending_deletion");
  expect(await ada.page(page)).toContain('data-countdown=""');
  expect((await act("purge", { confirm_name: "" })).status).toBe(422);
  expect(server()?.status).toBe("pending_deletion");
  expect((await act("purge", { confirm_name: "web-1" })).status).toBe(303);
  expect(server()?.status).toBe("deleting");
});

test("a deletion lists the server's public addresses that are released and those that are kept, and no other server's", async () => {
  const { publicIps, servers } = world.api.state;
  const [own, other] = servers;
  if (own === undefined || other === undefined) throw new Error("no servers");
  publicIps.push(
    { ...fakePublicIp("203.0.113.1", own), delete_with_server: true },
    { ...fakePublicIp("203.0.113.2", own), delete_with_server: true, protection: { delete: true } },
    fakePublicIp("203.0.113.3", own),
    { ...fakePublicIp("203.0.113.4", other), delete_with_server: true },
  );
  const html = await ada.page(`${page}/settings`);
  expect(html).toContain("Released at the end of the removal: 203.0.113.1.");
  expect(html).toContain("Yours and free for another server after that: 203.0.113.2, 203.0.113.3.");
  publicIps.length = 0;
  expect(await ada.page(`${page}/settings`)).not.toContain("Released at the end");
});

describe("resize", () => {
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
    expect(server()?.package.slug).toBe("m");
  });

  test("never restarts a server that the page called stopped", async () => {
    await ada.submit(`${page}/resize`, `${page}/resize`, {
      package: "l",
      disk: "keep",
      intent: "resize",
      allow_restart: "false",
    });
    expect(server()).toMatchObject({ status: "resizing", disk_gb: 80 });
  });
});

test("an address is reserved and attached from the server's page, and released", async () => {
  await act("take-address", { version: "4" });
  expect(server()?.public_ips).toHaveLength(1);
  const [ip] = world.api.state.publicIps;
  expect(await ada.page(`${page}/network`)).toContain(`Detach ${ip?.address}`);
  await act("detach-address", { public_ip_id: ip?.id ?? "" });
  expect(server()?.public_ips).toEqual([]);
  await act("attach-address", { public_ip_id: ip?.id ?? "" });
  expect(server()?.public_ips).toHaveLength(1);
});

test("when no address is left, the server's page names the contact", async () => {
  world.api.state.publicIps.push(
    ...["203.0.113.1", "203.0.113.2", "203.0.113.3"].map((address) =>
      fakePublicIp(address, world.api.state.servers[1]),
    ),
  );
  const answer = await act("take-address", { version: "4" });
  expect(answer.status).toBe(409);
  expect(await answer.text()).toContain("ask the operator");
});

test("a server in a data subnet shows why it cannot have a public address", async () => {
  for (const subnet of world.api.state.networks[0]?.subnets ?? []) subnet.tier = "data";
  expect(await ada.page(`${page}/network`)).toContain("in a data subnet, which never reaches the internet");
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
  const { state } = world.api;
  for (const tab of ["", "/network", "/console-sessions", "/jobs", "/usage", "/audit", "/settings"]) {
    const html = await ada.page(page + tab);
    expect(html, tab).toMatch(/<code id="server-ssh"[^>]*>ssh ubuntu@10\.0\.0\.10<\/code>/);
    expect(html, tab).toContain('id="power"');
  }
  const [own] = state.servers;
  if (own === undefined) throw new Error("no server");
  await act("take-address", { version: "4" });
  const [ip] = state.publicIps;
  expect(await ada.page(page)).toContain(`ssh ubuntu@${ip?.address}`);
  const { image } = own;
  state.changeServer(id, { image: { ...image, os_family: "windows", default_user: "Administrator" } });
  const windows = await ada.page(page);
  expect(windows).toContain('id="server-address"');
  expect(windows).not.toContain("server-ssh");
});

test("in Turkish a disabled action has its reason in Turkish", async () => {
  const turkish = new Visitor(world, { "accept-language": "tr" });
  await turkish.signIn();
  world.api.state.changeServer(id, { status: "stopped", power_state: "off" });
  expect(await turkish.page(page)).toContain("Sunucunun durumu “durduruldu” iken yapılamaz.");
  world.api.state.changeServer(id, { protection: { delete: false, rebuild: true } });
  expect(await turkish.page(`${page}/settings`)).toContain("Sunucu yeniden kurulmaya karşı korumalı.");
});

describe("the list", () => {
  test("is filtered by labels, and an invalid selector is explained in place of an error page", async () => {
    world.api.state.changeServer(id, { labels: { role: "web" } });
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
    world.api.state.changeServer(id, {
      observation: "stale",
      observed_at: new Date(Date.now() - 600_000).toISOString(),
    });
    expect(await ada.page("/servers")).toContain("as of 10 minutes ago");
    // The agent of Ankara is unreachable in the catalogue.
    expect(await ada.page("/servers")).toContain("Region Ankara 1 has never been heard from.");
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
    const id = world.api.state.sshKeys[0]?.id;
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
    const turkish = new Visitor(world, { "accept-language": "tr" });
    await turkish.signIn();
    const answer = await turkish.submit("/ssh-keys/new", "/ssh-keys/new", {
      name: "laptop",
      public_key: text,
    });
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain(said);
  });

  test("is renamed in place", async () => {
    await ada.submit("/ssh-keys/new", "/ssh-keys/new", { name: "laptop", public_key: good });
    const [key] = world.api.state.sshKeys;
    await ada.submit("/ssh-keys", `/ssh-keys/${key?.id}/settings`, { name: "work laptop" });
    expect(await ada.page("/ssh-keys")).toContain("work laptop");
  });
});

test("an invalid PTR name is shown again beside its field with the input", async () => {
  world.api.state.publicIps.push(fakePublicIp("203.0.113.1"));
  const ip = world.api.state.publicIps[0]?.id;
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
  const html = await ada.page(`/usage/segments?kind=compute&resource=${id}`);
  expect(html).toContain("1 day, 12 hours");
  expect(html).not.toContain("ongoing");
  expect(html).not.toContain("web-2");
  expect(html).toMatch(new RegExp(`/usage/export.csv\\?[^"]*resource=${id}`));
  expect((await ada.get("/usage/segments?label_selector=a+b")).status).toBe(422);
  await ada.get(`/usage/export.ndjson?resource=${id}&from=2026-11-01T00:00:00.000Z`);
  expect(world.api.calls.at(-1)).toContain(`resource=${id}`);
});
