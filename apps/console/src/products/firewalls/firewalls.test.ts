import { afterEach, beforeEach, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import { networks } from "../../testing/scenes/networks.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { fieldIn, type Visitor } from "../../testing/visitor.ts";

let world: PanelWorld<FactsOf<typeof networks>>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(networks);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

const ssh = { protocol: "tcp" as const, ports: ["22"], peers: [{ any: true as const }], description: "SSH" };

/** Creates the firewall `web`; its id. */
async function createFirewall(more: object = {}): Promise<string> {
  const body = { name: "web", region: "ist1", rules: [ssh], ...more };
  return (await done(world.real.acme.post("/firewalls", body))).firewall.id;
}
const firewall = (id: string) => world.real.read(`/firewalls/${id}`);
/** Through the API; its id. */
async function attach(id: string, target: object): Promise<string> {
  const answer = await done(world.real.acme.post(`/firewalls/${id}/attachments`, target));
  return answer.firewall.attachments.find((each: object) =>
    Object.entries(target).every(([name, value]) => each[name as keyof typeof each] === value),
  ).id;
}
const serverId = (name: string) => world.facts.servers[name] ?? "";
const subnetId = (name: string) => world.facts.subnets[name] ?? "";

/** The fields of one row of the form. */
const row = (number: number, fields: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(
    Object.entries({
      direction: "in",
      action: "allow",
      protocol: "tcp",
      ports: "22",
      "peer-0": "any",
      "peer-0-text": "",
      priority: "1000",
      description: "",
      enabled: "on",
      ...fields,
    }).map(([name, value]) => [`rule-${number}-${name}`, value]),
  );

test("a firewall is created with first rules, and a taken name is an error at its field", async () => {
  const fields = { name: "web", region: "ist1", start: "web", description: "" };
  expect(await ada.page("/firewalls")).toContain('href="/firewalls/new"');
  const made = await ada.submit("/firewalls/new", "/firewalls/new", fields);
  const [web] = await world.real.list("/firewalls");
  expect(made.headers.get("location")).toBe(`/firewalls/${web.id}?notice=created`);
  expect(web.rules.map(({ ports }: { ports: string[] }) => ports)).toEqual([["80", "443"]]);
  const again = await ada.submit("/firewalls/new", "/firewalls/new", fields);
  expect(again.status).toBe(409);
  expect(await again.text()).toContain('id="name-problem"');
  expect(await ada.page("/firewalls")).toContain(`href="/firewalls/${web.id}"`);
});

test("rows are added, moved and removed in the form only; nothing changes before it is saved", async () => {
  const id = await createFirewall();
  const path = `/firewalls/${id}/rules`;
  const draft = async (fields: Record<string, string>, intent: string) =>
    (await ada.submit(path, `${path}/draft`, { generation: "1", intent, ...fields })).text();
  const added = await draft(row(0), "add");
  expect(added).toContain('id="rule-1-protocol"');
  const two = { ...row(0), ...row(1, { ports: "443", priority: "2000" }) };
  const moved = await draft(two, "up:1");
  expect(fieldIn(moved, "generation")).toBe("1");
  expect(moved).toMatch(/id="rule-0-ports"[^>]*value="443"/);
  expect(moved).toMatch(/id="rule-1-ports"[^>]*value="22"/);
  expect(moved).toMatch(/id="rule-1-priority"[^>]*value="2000"/);
  const peers = await draft(row(0), "add-peer:0");
  expect(peers).toContain('id="rule-0-peer-1"');
  const gone = await draft(two, "remove:0");
  expect(gone).toMatch(/id="rule-0-ports"[^>]*value="443"/);
  expect(gone).not.toContain('id="rule-1-ports"');
  expect((await firewall(id)).generation).toBe(1);
});

test("the saved rules are the typed ones, with peers of every kind", async () => {
  const id = await createFirewall();
  const network = world.facts.networks.shop ?? "";
  const subnet = subnetId("app");
  const { enabled: _enabled, ...off } = row(1, {
    ports: "",
    protocol: "any",
    direction: "out",
    action: "deny",
  });
  const saved = await ada.submit(`/firewalls/${id}/rules`, `/firewalls/${id}/rules`, {
    generation: "1",
    ...row(0, {
      ports: "22, 8000-8100",
      "peer-0": "cidr",
      "peer-0-text": "192.0.2.0/24",
      "peer-1": subnet,
      "peer-1-text": "",
      "peer-2": network,
      "peer-2-text": "",
      "peer-3": id,
      "peer-3-text": "",
      "peer-4": "labels",
      "peer-4-text": "role=web",
    }),
    ...Object.fromEntries(Object.entries(off).filter(([name]) => name !== "rule-1-enabled")),
  });
  expect(saved.headers.get("location")).toBe(`/firewalls/${id}?notice=rules`);
  expect((await firewall(id)).rules).toMatchObject([
    {
      ports: ["22", "8000-8100"],
      peers: [
        { cidr: "192.0.2.0/24" },
        { subnet_id: subnet },
        { network_id: network },
        { firewall_id: id },
        { label_selector: "role=web" },
      ],
      enabled: true,
    },
    { direction: "out", action: "deny", protocol: "any", ports: [], enabled: false },
  ]);
  const page = await ada.page(`/firewalls/${id}`);
  for (const words of ["subnet shop/app", "network shop", "servers of firewall web", "servers with role=web"])
    expect(page).toContain(words);
});

test("errors are shown beside their fields in the page's language, and the input is kept", async () => {
  const id = await createFirewall();
  const save = (visitor: Visitor, fields: Record<string, string>) =>
    visitor.submit(`/firewalls/${id}/rules`, `/firewalls/${id}/rules`, { generation: "1", ...fields });
  const wrong = {
    ...row(0, { ports: "99999", "peer-0": "cidr", "peer-0-text": "here" }),
    ...row(1, { priority: "first" }),
  };
  const schema = await save(ada, wrong);
  expect(schema.status).toBe(422);
  expect(await schema.text()).toContain('id="rule-1-priority-problem"');
  const refused = await (await save(ada, { ...wrong, "rule-1-priority": "5" })).text();
  expect(refused).toMatch(/id="rule-0-ports-problem">\s*Is neither a port/);
  expect(refused).toContain('id="rule-0-peer-0-problem"');
  expect(refused).toContain('value="99999"');
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  const said = await (await save(turkish, wrong)).text();
  expect(said).toContain(`id="rule-1-priority-problem"`);
  expect(said).not.toMatch(/problem">\s*(Must|Is) /);
  expect((await firewall(id)).generation).toBe(1);
});

test("concurrent changes of the rules are not overwritten without a warning", async () => {
  const id = await createFirewall();
  const save = (generation: string) =>
    ada.submit(`/firewalls/${id}/rules`, `/firewalls/${id}/rules`, {
      generation,
      ...row(0, { ports: "80" }),
    });
  await done(world.real.acme.put(`/firewalls/${id}/rules`, { rules: [{ ...ssh, ports: ["2222"] }] }));
  const { generation, rules } = await firewall(id);
  const refused = await save("1");
  expect(refused.status).toBe(412);
  const page = await refused.text();
  expect(page).toContain("The rules were changed in the meantime");
  expect(page).toMatch(/id="rule-0-ports"[^>]*value="80"/);
  expect(fieldIn(page, "generation")).toBe(String(generation));
  expect((await firewall(id)).rules).toEqual(rules);
  expect((await save(String(generation))).status).toBe(303);
  expect((await firewall(id)).rules).toMatchObject([{ ports: ["80"] }]);
});

test("it is attached to servers, subnets and labels, and detached again", async () => {
  const id = await createFirewall();
  const path = `/firewalls/${id}`;
  const types = async () =>
    new Set((await firewall(id)).attachments.map(({ type }: { type: string }) => type));
  for (const target of [serverId("app-1"), subnetId("app")])
    await ada.submit(path, `${path}/attach`, { target, selector: "" });
  const attached = await ada.submit(path, `${path}/attach`, { target: "labels", selector: "role=web" });
  expect(attached.headers.get("location")).toBe(`${path}?notice=attached`);
  expect(await types()).toEqual(new Set(["server", "subnet", "label_selector"]));
  const page = await ada.page(path);
  for (const words of ["app-1", "shop/app", "role=web", "on its way"]) expect(page).toContain(words);
  const list = await ada.page("/firewalls");
  for (const words of ["app-1", "shop/app", "role=web"]) expect(list).toContain(words);
  const none = await ada.submit(path, `${path}/attach`, { target: "", selector: "" });
  expect(none.status).toBe(422);
  expect(await none.text()).toContain('id="attach-problem"');
  const { attachments } = await firewall(id);
  const attachment_id = attachments.find(({ type }: { type: string }) => type === "server").id;
  await ada.submit(path, `${path}/detach`, { attachment_id });
  expect(await types()).toEqual(new Set(["subnet", "label_selector"]));
});

test("a question in the address is answered with the rule that decides", async () => {
  const id = await createFirewall();
  const to = serverId("app-1");
  await attach(id, { server_id: to });
  const ask = (port: string, address = "198.51.100.7") =>
    ada.page(
      `/firewalls/${id}?from=address&from_address=${address}&to=${to}&to_address=&protocol=tcp&port=${port}`,
    );
  const allowed = await ask("22");
  expect(allowed).toContain('data-verdict="allowed"');
  expect(allowed).toContain(`href="#${(await firewall(id)).rules[0].id}"`);
  const denied = await ask("23");
  expect(denied).toContain('data-verdict="denied"');
  expect(denied).toContain("No rule matches");
  expect(await ask("22", "nowhere")).toContain('id="test-from-problem"');
});

test("a deletion requires its name, and while it is attached the button gives the reason", async () => {
  const id = await createFirewall();
  const path = `/firewalls/${id}`;
  const settings = `${path}/settings`;
  const { acme } = world.real;
  const attachment = await attach(id, { label_selector: "role=web" });
  expect(await ada.page(settings)).toMatch(/disabled[^>]*>\s*Delete firewall/);
  expect(await ada.page(settings)).toContain("Detach it everywhere first");
  await done(acme.delete(`${path}/attachments/${attachment}`));
  const other = await createFirewall({ name: "other", rules: [{ ...ssh, peers: [{ firewall_id: id }] }] });
  expect(await ada.page(settings)).toContain("A rule of another firewall names it");
  await done(acme.delete(`/firewalls/${other}`));
  const wrong = await ada.submit(settings, `${path}/delete`, { confirm_name: "wob" });
  expect(wrong.status).toBe(422);
  expect(await world.real.list("/firewalls")).toHaveLength(1);
  const deleted = await ada.submit(settings, `${path}/delete`, { confirm_name: "web" });
  expect(deleted.headers.get("location")).toBe("/firewalls?notice=deleted");
  expect(await world.real.list("/firewalls")).toHaveLength(0);
});

test("a viewer sees everything and can change nothing", async () => {
  const id = await createFirewall();
  const vera = await world.signedIn("vera");
  const page = await vera.page(`/firewalls/${id}`);
  expect(page).toContain("SSH");
  expect(page).not.toContain(`href="/firewalls/${id}/rules"`);
  for (const each of [page, await vera.page(`/firewalls/${id}/settings`)])
    expect(each).not.toContain(`action="/firewalls/${id}/`);
  expect(page).not.toContain(`href="/firewalls/${id}/settings"`);
  expect(await vera.page("/firewalls")).not.toContain('href="/firewalls/new"');
  expect((await vera.get("/firewalls/new")).status).toBe(403);
});

test("a rule that always denies names what it denies, in both languages", async () => {
  const id = await createFirewall();
  const denied = async (headers: Record<string, string>, word: string) => {
    const page = await (await world.signedIn("ada", headers)).page(`/firewalls/${id}`);
    const [, list = ""] = /<ul class="platform-rules">([\s\S]*?)<\/ul>/.exec(page) ?? [];
    return [...list.matchAll(/<li>([\s\S]*?)<\/li>/g)]
      .map(([, line = ""]) =>
        line
          .replaceAll(/<[^>]*>/g, " ")
          .replaceAll(/\s+/g, " ")
          .trim(),
      )
      .filter((line) => line.startsWith(word));
  };
  const english = await denied({}, "Deny");
  expect(english.length).toBeGreaterThan(3);
  // "Deny: a server sends with its own address alone" had the opposite meaning.
  for (const line of english) expect(line).toMatch(/^Deny (Traffic|Link-local traffic) /);
  const turkish = await denied({ "accept-language": "tr" }, "Reddet");
  expect(turkish).toHaveLength(english.length);
  for (const line of turkish) expect(line).toContain("trafi");
});

test("a server's page shows the firewalls that filter it and why, and attaches and detaches them", async () => {
  const id = await createFirewall();
  const path = `/servers/${serverId("app-1")}`;
  const tab = `${path}/network`;
  expect(await ada.page(tab)).toContain("No firewall");
  const attached = await ada.submit(tab, `${path}/attach-firewall`, { firewall_id: id });
  expect(attached.headers.get("location")).toBe(`${tab}?notice=firewallAttached`);
  await attach(id, { subnet_id: subnetId("app") });
  await attach(id, { label_selector: "role=data" });
  const page = await ada.page(tab);
  expect(page).toContain("attached to this server");
  expect(page).toContain("by its subnet shop/app");
  expect(page).not.toContain("role=data");
  const { attachments } = await firewall(id);
  const attachment_id = attachments.find(({ type }: { type: string }) => type === "server").id;
  await ada.submit(tab, `${path}/detach-firewall`, { firewall_id: id, attachment_id });
  expect(await ada.page(tab)).not.toContain("attached to this server");
});

test("the rules of all servers of a firewall are re-applied, or the button gives the reason", async () => {
  const { acme, agent } = world.real;
  const kinds = async () => (await world.real.list("/jobs?status=queued")).map(({ kind }) => kind);
  const id = await createFirewall();
  const path = `/firewalls/${id}`;
  expect(await ada.page(path)).toMatch(/id="apply"[\s\S]*?disabled[\s\S]*?It is attached to no server\./);
  const attachment = await attach(id, { subnet_id: subnetId("app") });
  await agent.work();
  expect(await ada.page(path)).not.toContain("It is attached to no server.");
  expect(await kinds()).toEqual([]);
  const asked = await ada.submit(path, `${path}/apply`, {});
  expect(asked.headers.get("location")).toBe(`${path}?notice=applied`);
  expect(await kinds()).toEqual(Array(3).fill("FirewallApply"));
  expect(await ada.page(`${path}?notice=applied`)).toContain("The rules are being applied to the servers.");
  // No server could receive the rules now.
  await done(acme.delete(`${path}/attachments/${attachment}`));
  const none = await ada.submit(path, `${path}/apply`, {});
  expect(none.headers.get("location")).toBe(`${path}?notice=appliedNone`);
  const vera = await world.signedIn("vera");
  expect(await vera.page(path)).not.toContain('id="apply"');
});
