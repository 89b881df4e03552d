import { madeUpload } from "@kule/api/testing/made-upload";
import { afterEach, beforeEach, expect, test } from "vitest";
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

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs);

/** An uploaded certificate; its path. */
async function upload(name: string, days = 60): Promise<string> {
  const material = await madeUpload([`${name}.example`], { notAfter: inDays(days) });
  const body = { name, type: "uploaded", region: "ist1", ...material };
  return `/certificates/${(await done(world.real.acme.post("/certificates", body))).certificate.id}`;
}

/** A managed certificate whose first attempt has failed in the region; its path. */
async function fail(challenge: "dns" | "http", ...domain_names: string[]): Promise<string> {
  const body = { name: "managed", type: "managed", region: "ist1", domain_names, challenge };
  const { certificate } = await done(world.real.acme.post("/certificates", body));
  await world.real.agent.fail(await world.real.agent.take("CertificateRequest"));
  return `/certificates/${certificate.id}`;
}

async function use(path: string): Promise<string> {
  const listener = {
    protocol: "https",
    port: 443,
    target_port: 8080,
    certificate_ids: [path.split("/")[2]],
  };
  const body = { name: "front", subnet_id: world.facts.subnets.app, listeners: [listener] };
  return (await done(world.real.acme.post("/load-balancers", body))).load_balancer.id;
}

const create = (fields: Record<string, string>) =>
  ada.submit("/certificates/new", "/certificates/new", {
    ...{ name: "shop", type: "uploaded", region: "ist1", certificate: "", chain: "", private_key: "" },
    ...{ domain_names: "", challenge: "dns", labels: "" },
    ...fields,
  });

test("a certificate is uploaded with its chain and key, and its page shows what is in it", async () => {
  expect(await ada.page("/certificates")).toContain('href="/certificates/new"');
  const material = await madeUpload(["shop.example", "www.shop.example"]);
  const made = await create({ ...material, labels: "env=prod" });
  const [certificate] = await world.real.list("/certificates");
  const path = `/certificates/${certificate.id}`;
  expect(made.headers.get("location")).toBe(`${path}?notice=created`);
  expect(certificate).toMatchObject({ name: "shop", type: "uploaded", labels: { env: "prod" } });
  const page = await ada.page(path);
  for (const words of [
    "shop.example",
    "www.shop.example",
    certificate.issuer,
    certificate.serial,
    certificate.key_type,
    certificate.fingerprint_sha256,
    "No listener uses it.",
  ])
    expect(page).toContain(words);
  expect(page).toContain(`href="${path}/material"`);
  expect(page).not.toContain(`${path}/renew"`);
});

test("a refused upload shows each error at its field, keeps the certificate, and never the private key", async () => {
  const { certificate } = await madeUpload(["shop.example"]);
  const other = await madeUpload(["other.example"]);
  const refused = await create({ certificate, private_key: other.private_key, chain: "nothing" });
  expect(refused.status).toBe(422);
  const page = await refused.text();
  expect(page).toContain(certificate.split("\n")[1]);
  expect(page).toContain('id="chain-problem"');
  expect(page).not.toContain(other.private_key.split("\n")[1]);
  expect(page).toContain("after an error it has to be pasted again");

  const path = await upload("shop");
  const again = await ada.submit(`${path}/material`, `${path}/material`, {
    certificate,
    chain: "",
    private_key: other.private_key,
  });
  expect(again.status).toBe(422);
  const replacing = await again.text();
  expect(replacing).toContain('id="private_key-problem"');
  expect(replacing).toContain(certificate.split("\n")[1]);
  expect(replacing).not.toContain(other.private_key.split("\n")[1]);
});

test("a private key is in no page while the API does not answer, either", async () => {
  const material = await madeUpload(["shop.example"]);
  const form = await ada.page("/certificates/new");
  const [, form_token = ""] = /name="form_token" value="([^"]+)"/.exec(form) ?? [];
  world.api.away = true;
  const fields = { form_token, name: "shop", type: "uploaded", ...material };
  const answer = await ada.post("/certificates/new", fields);
  expect(answer.status).toBe(503);
  expect(await answer.text()).not.toContain(material.private_key.split("\n")[1]);
});

test("a chain of the API's longest can be sent", async () => {
  const material = await madeUpload(["shop.example"]);
  const chain = `${material.chain}${"\n".repeat(120_000)}`;
  const answer = await create({
    ...material,
    certificate: `${"\n".repeat(120_000)}${material.certificate}`,
    chain,
  });
  expect(answer.status).toBe(303);
});

test("a managed certificate is asked for with its names, and its page follows it", async () => {
  await done(world.real.acme.post("/domains", { name: "shop.example" }));
  const made = await create({ type: "managed", domain_names: "shop.example\n*.shop.example" });
  const [certificate] = await world.real.list("/certificates");
  const path = `/certificates/${certificate.id}`;
  expect(made.headers.get("location")).toBe(`${path}?notice=requested`);
  expect(certificate).toMatchObject({
    type: "managed",
    challenge: "dns",
    domain_names: ["shop.example", "*.shop.example"],
  });
  const page = await ada.page(path);
  expect(page).toContain("pending");
  expect(page).toContain(`href="/jobs/${certificate.job_id}"`);
  expect(page).not.toContain("/material");
  expect((await ada.get(`${path}/material`)).headers.get("location")).toBe(path);
});

test("the page says which record proves each name, in which domain, and what stands in the way", async () => {
  const { domain } = await done(world.real.acme.post("/domains", { name: "shop.example" }));
  const path = await fail("dns", "www.shop.example");
  const page = await ada.page(path);
  expect(page).toContain("_acme-challenge.www.shop.example");
  expect(page).toContain(`href="/domains/${domain.id}"`);
  const [{ problem }] = await world.real.list(`${path}/challenges`);
  expect(problem).not.toBeNull();
  expect(page).toContain("not possible yet");
  expect(page).toContain(`/domains/${domain.id}/verify`);
});

test("with http it says where each name has to lead, and what stands in the way, in Turkish too", async () => {
  const path = await fail("http", "www.shop.example");
  const page = await ada.page(path);
  expect(page).toContain("A record with the public address of a load balancer of region ist1");
  expect(page).toContain("No load balancer of region ist1 has an http listener on port 80");
  const turkish = await (await world.signedIn("ada", { "accept-language": "tr" })).page(path);
  expect(turkish).toContain(
    "80 numaralı portta http dinleyicisi ve genel adresi olan bir yük dengeleyici yok",
  );
  expect(turkish).not.toContain("No load balancer of region");
});

test("while too many names are looked up at the same time, the page shows everything else and tries again", async () => {
  const path = await fail("http", "www.shop.example");
  world.api.busyFor = /\/challenges$/;
  const page = await ada.page(path);
  expect(page).toContain(
    "Too many names are being looked up at the same time. This page tries again by itself.",
  );
  for (const words of ["Next attempt", "The region could not make the private key"])
    expect(page).toContain(words);
  expect(page).not.toContain("No load balancer of region ist1 has an http listener on port 80");
  expect(page).toMatch(/hx-trigger="every 5s/);
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page(path)).toContain("Aynı anda çok fazla ad sorgulanıyor");

  // Elsewhere the same answer is a page that says so, and no empty one.
  world.api.busyFor = /^GET \/certificates\/[^/]+$/;
  expect((await ada.get(path)).status).toBe(503);
  world.api.busyFor = null;
  expect(await ada.page(path)).toContain("No load balancer of region ist1 has an http listener on port 80");
});

test("the renewal shows the next attempt and the last error, and can be tried now", async () => {
  const path = await fail("http", "www.shop.example");
  const page = await ada.page(path);
  for (const words of ["failed", "Next attempt", "The region could not make the private key"])
    expect(page).toContain(words);
  const turkish = await world.signedIn("ada", { "accept-language": "tr" });
  expect(await turkish.page(path)).toContain("Bölge özel anahtarı oluşturamadı");
  const renewed = await ada.submit(path, `${path}/renew`, {});
  expect(renewed.headers.get("location")).toBe(`${path}?notice=renewing`);
  expect((await world.real.read(path)).job_id).not.toBeNull();
});

test("replacing the certificate and the key of an uploaded one changes its fingerprint", async () => {
  const path = await upload("shop");
  const { fingerprint_sha256: before } = await world.real.read(path);
  const answer = await ada.submit(`${path}/material`, `${path}/material`, {
    ...(await madeUpload(["new.example"])),
  });
  expect(answer.headers.get("location")).toBe(`${path}?notice=replaced`);
  const after = await world.real.read(path);
  expect(after).toMatchObject({ version: 2, previous_fingerprint: before });
  const page = await ada.page(path);
  for (const words of ["new.example", before, after.fingerprint_sha256]) expect(page).toContain(words);
});

test("the list marks certificates that end within 30 and within 7 days, and says how many listeners use each", async () => {
  const paths = [await upload("near", 20), await upload("nearest", 5), await upload("far", 60)];
  await use(paths[0] ?? "");
  const page = await ada.page("/certificates");
  const rowOf = (path: string) =>
    new RegExp(`<tr id="${path.split("/")[2]}"[\\s\\S]*?</tr>`).exec(page)?.[0] ?? "";
  const [near = "", nearest = "", far = ""] = paths.map(rowOf);
  expect(near).toMatch(/data-tone="warning"[\s\S]*?(19|20) days/);
  expect(near).toContain("1 listener");
  expect(nearest).toMatch(/data-tone="bad"[\s\S]*?(4|5) days/);
  expect(far).not.toMatch(/data-tone="(warning|bad)"/);
  expect(far).toContain("far.example");
});

test("a certificate that a listener uses leads to its load balancer, and is not deleted", async () => {
  const path = await upload("shop");
  const balancer = await use(path);
  expect(await ada.page(path)).toMatch(new RegExp(`href="/load-balancers/${balancer}">\\s*front`));
  const [{ listener_id }] = (await world.real.read(path)).used_by;
  expect(await ada.page(path)).toContain(`href="/load-balancers/${balancer}/listeners/${listener_id}"`);
  expect(await ada.page(`${path}/settings`)).toContain("Listeners use it. Take it out of them first.");
  const refused = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "shop" });
  expect(refused.status).toBe(409);
  expect(await refused.text()).toContain("Listeners use it. Take it out of them first.");
  expect((await world.real.read(path)).name).toBe("shop");
});

test("a name, a label and the deletion are changed on the settings tab", async () => {
  const path = await upload("shop");
  await ada.submit(`${path}/settings`, `${path}/settings`, { name: "shop 2027" });
  expect(await ada.page(path)).toContain("<h1>shop 2027</h1>");
  await ada.submit(`${path}/settings`, `${path}/labels`, { key: "env", value: "prod", intent: "set" });
  expect((await world.real.read(path)).labels).toEqual({ env: "prod" });
  const wrong = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "other" });
  expect(wrong.status).toBe(422);
  const deleted = await ada.submit(`${path}/settings`, `${path}/delete`, { confirm_name: "shop 2027" });
  expect(deleted.headers.get("location")).toBe("/certificates?notice=deleted");
  expect(await world.real.list("/certificates")).toEqual([]);
});

test("a viewer sees it and can change nothing of it", async () => {
  const path = await upload("shop");
  const vera = await world.signedIn("vera");
  const page = await vera.page(path);
  expect(page).toContain("shop.example");
  expect(page).not.toContain(`href="${path}/material"`);
  expect(page).not.toContain(`action="${path}/`);
  for (const address of ["/certificates/new", `${path}/material`])
    expect((await vera.get(address)).status, address).toBe(403);
});
