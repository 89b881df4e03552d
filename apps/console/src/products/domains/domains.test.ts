import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { addDomain, changeAtProvider, serve, sign } from "../../testing/domain-states.ts";
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

const inTurkish = () => world.signedIn("ada", { "accept-language": "tr" });
const read = (id: string) => world.real.read(`/domains/${id}`);
/** By name and type: `www A`. */
async function recordsOf(id: string): Promise<Record<string, readonly string[]>> {
  const sets = await world.real.list(`/domains/${id}/records`);
  return Object.fromEntries(sets.map(({ name, type, values }) => [`${name} ${type}`, values]));
}
const record = (fields: Readonly<Record<string, string>> = {}) => ({
  ...{ name: "www", type: "A", ttl: "", values: "192.0.2.10", server: "", comment: "" },
  ...fields,
});

describe("a new domain", () => {
  const fields = { name: "shop.example", description: "", zone_file: "", ttl: "", labels: "" };

  test("leads to what proves it, with everything to enter ready to be copied", async () => {
    expect(await ada.page("/domains")).toContain('href="/domains/new"');
    const made = await ada.submit("/domains/new", "/domains/new", {
      ...fields,
      zone_file: "www A 192.0.2.1\n",
    });
    const [domain] = await world.real.list("/domains");
    expect(made.headers.get("location")).toBe(`/domains/${domain.id}/delegation?notice=created`);
    expect(await recordsOf(domain.id)).toEqual({ "www A": ["192.0.2.1"] });
    const page = await ada.page(`/domains/${domain.id}/delegation`);
    for (const text of [
      domain.verification.record.name,
      domain.verification.record.value,
      ...domain.verification.name_servers,
    ])
      expect(page).toMatch(new RegExp(`<code id="([^"]+)">${text}</code>\\s*<button[^>]*data-copy="\\1"`));
    expect(await ada.page("/domains")).toContain(`href="/domains/${domain.id}"`);
  });

  test("with a wrong name or a wrong line of its zone file is shown again, and says which", async () => {
    const wrong = await ada.submit("/domains/new", "/domains/new", { ...fields, name: "192.0.2.1" });
    expect(wrong.status).toBe(422);
    expect(await wrong.text()).toContain('id="name-problem"');
    const file = await ada.submit("/domains/new", "/domains/new", {
      ...fields,
      zone_file: "www A 192.0.2.1\nmail A 192.0.2\n",
    });
    expect(file.status).toBe(422);
    const page = await file.text();
    expect(page).toContain("Line 2");
    expect(page).toContain("<code>mail A 192.0.2</code>");
    expect(await world.real.list("/domains")).toEqual([]);
  });
});

describe("records", () => {
  let id: string;
  let page: string;
  beforeEach(async () => {
    id = await addDomain(world.real, "shop.example");
    page = `/domains/${id}`;
    await serve(world.real, id);
  });
  const add = (fields: Readonly<Record<string, string>>, visitor = ada) =>
    visitor.submit(`${page}?add=yes`, `${page}/records`, record(fields));
  /** Opens the form of a record set, and sends it with other values. */
  async function change(name: string, type: string, fields: Readonly<Record<string, string>>) {
    const open = await ada.page(`${page}?edit=${encodeURIComponent(name)}&edit_type=${type}`);
    const kept = Object.fromEntries(
      ["of_name", "of_type", "etag"].map((each) => [each, unescaped(open, each)]),
    );
    return () => ada.submit(page, `${page}/records/change`, { ...kept, ...record(fields) });
  }
  const unescaped = (html: string, name: string) => (fieldIn(html, name) ?? "").replaceAll("&quot;", '"');

  test("are added with several values, shown in their canonical form, and filtered by text and type", async () => {
    const added = await add({ values: "192.0.2.10\n\n192.0.2.11\n", ttl: "300", comment: "web" });
    expect(added.headers.get("location")).toBe(`${page}?notice=recordSaved`);
    await add({ name: "", type: "MX", values: "10 mail.shop.example" });
    expect(await recordsOf(id)).toEqual({
      "@ MX": ["10 mail.shop.example."],
      "www A": ["192.0.2.10", "192.0.2.11"],
    });
    const all = await ada.page(page);
    for (const words of ["192.0.2.11", "5 min", "10 mail.shop.example.", "web"]) expect(all).toContain(words);
    expect(await ada.page(`${page}?q=mail`)).not.toContain("192.0.2.11");
    const typed = await ada.page(`${page}?type=A`);
    expect(typed).toContain("192.0.2.11");
    expect(typed).not.toContain("10 mail");
    expect(await ada.page(`${page}?q=nothing`)).toContain("No record matches");
  });

  test("are changed in their row, and one of another name or type replaces the former in one change", async () => {
    await add({});
    const open = await ada.page(`${page}?edit=www&edit_type=A`);
    expect(open).toMatch(/<tr class="record-edited"[\s\S]*?<textarea[^>]*>192\.0\.2\.10<\/textarea>/);
    await (await change("www", "A", { values: "192.0.2.20" }))();
    expect(await recordsOf(id)).toEqual({ "www A": ["192.0.2.20"] });
    const sent = world.api.calls.length;
    await (await change("www", "A", { name: "web", type: "CNAME", values: "host.example.net" }))();
    expect(await recordsOf(id)).toEqual({ "web CNAME": ["host.example.net."] });
    const changes = world.api.calls.slice(sent).filter((call) => !call.startsWith("GET"));
    expect(changes).toEqual([`POST /domains/${id}/changes`]);
  });

  test("are deleted by the form of their row", async () => {
    await add({ name: "*.dev" });
    const open = await ada.page(`${page}?edit=*.dev&edit_type=A`);
    const deleted = await ada.submit(page, `${page}/records/delete`, {
      of_name: "*.dev",
      of_type: "A",
      etag: unescaped(open, "etag"),
      shown_q: "dev",
    });
    expect(deleted.headers.get("location")).toBe(`${page}?q=dev&notice=recordDeleted`);
    expect(await recordsOf(id)).toEqual({});
  });

  test("follow a server that is chosen, and show its addresses", async () => {
    const server = world.facts.servers["app-1"] ?? "";
    await add({ name: "app", values: "", server });
    expect(await recordsOf(id)).toEqual({ "app A": [`auto:${server}`] });
    const shown = await ada.page(page);
    expect(shown).toContain("203.0.113.10");
    expect(shown).toMatch(new RegExp(`href="/servers/${server}">\\s*app-1`));
    const open = await ada.page(`${page}?edit=app&edit_type=A`);
    expect(open).toMatch(new RegExp(`value="${server}" selected`));
    expect(open).not.toMatch(/<textarea[^>]*>auto:/);
  });

  test("that are refused keep what was typed, and name the wrong line in the page's language", async () => {
    const typed = { values: "192.0.2.10\nhere\n", comment: "mine" };
    const english = await add(typed);
    expect(english.status).toBe(422);
    const refused = await english.text();
    expect(refused).toMatch(/id="values-problem">\s*Line 2: /);
    expect(refused).toContain('value="mine"');
    const turkish = await (await add(typed, await inTurkish())).text();
    expect(turkish).toMatch(
      /id="values-problem">\s*Satır 2 “here”: Doğru biçimde değil\. 192\.0\.2\.10 gibi/,
    );
    expect(await recordsOf(id)).toEqual({});
  });

  test("that exist already are not replaced by adding, nor overwritten unseen by editing", async () => {
    await add({});
    const again = await add({ values: "192.0.2.99" });
    expect(again.status).toBe(412);
    expect(await again.text()).toContain("There are records of this name and type already");
    const mine = await change("www", "A", { values: "192.0.2.30" });
    await done(world.real.acme.put(`/domains/${id}/records/www/A`, { values: ["192.0.2.20"] }));
    const stale = await mine();
    expect(stale.status).toBe(412);
    const page412 = await stale.text();
    expect(page412).toContain("The record was changed in the meantime");
    expect(page412).toContain(">192.0.2.30</textarea>");
    expect(await recordsOf(id)).toEqual({ "www A": ["192.0.2.20"] });
    const etag = unescaped(page412, "etag");
    await ada.submit(page, `${page}/records/change`, {
      ...record({ values: "192.0.2.30" }),
      of_name: "www",
      of_type: "A",
      etag,
    });
    expect(await recordsOf(id)).toEqual({ "www A": ["192.0.2.30"] });
  });

  test("that break a rule of DNS say so in the page's language", async () => {
    await add({});
    await add({ name: "@", type: "MX", values: "10 mail.shop.example" });
    const turk = await inTurkish();
    const said = async (fields: Readonly<Record<string, string>>, field: string) =>
      new RegExp(`id="${field}-problem">\\s*([^<]*)`)
        .exec(await (await add(fields, turk)).text())?.[1]
        ?.trim();
    const target = { type: "CNAME", values: "a.example.net" };
    expect(await said(target, "type")).toContain("CNAME bir addaki tek kayıt olmalıdır");
    expect(await said({ ...target, name: "@" }, "name")).toContain("Alan adının kendisi CNAME olamaz");
    expect(await said({ ...target, name: "x", values: "a.example.net\nb.example.net" }, "values")).toContain(
      "tek bir hedefi olur",
    );
    expect(await said({ name: "www.other.example." }, "name")).toContain("Bu alan adının içinde değil");
    expect(await said({ name: "y", values: "" }, "values")).toBe("Bir değer girin ya da kaydı silin.");
    expect(await said({ name: "y", ttl: "5" }, "ttl")).toContain("60 ile 604.800");
    expect(await said({ name: "y", values: "192.0.2.1\n192.0.2.1" }, "values")).toContain(
      "Satır 2 “192.0.2.1”: Bu değer kayıtta zaten var.",
    );
  });

  describe("several of them", () => {
    const ids = ["A/old", "A/www", "TXT/*.dev"];
    beforeEach(async () => {
      await add({});
      await add({ name: "old" });
      await add({ name: "*.dev", type: "TXT", values: "kept by nobody" });
      await add({ name: "stays" });
    });
    const preview = (chosen: readonly string[]) =>
      ada.submit(page, `${page}/records/selected`, { ids: chosen, shown_type: "A" });
    const confirm = (html: string, confirm_name: string) =>
      ada.submit(page, `${page}/records/selected/delete`, {
        ids: [...html.matchAll(/name="ids" value="([^"]*)"/g)].map(([, id]) => id ?? ""),
        etags: [...html.matchAll(/name="etags" value="([^"]*)"/g)].map(([, etag]) =>
          (etag ?? "").replaceAll("&quot;", '"'),
        ),
        ...{ confirm_name, shown_type: "A" },
      });

    test("are chosen in the table, looked at, and deleted in one change after their number is typed", async () => {
      const table = await ada.page(page);
      for (const id of ids) expect(table).toMatch(new RegExp(`name="ids" value="${id.replace("*", "\\*")}"`));
      const seen = await (await preview(ids)).text();
      expect(seen).toContain("Delete 3 records?");
      expect(seen).toContain("kept by nobody");
      expect(Object.keys(await recordsOf(id))).toHaveLength(4);
      for (const typed of ["", "2", "three"]) {
        const refused = await confirm(seen, typed);
        expect(refused.status).toBe(422);
        expect(await refused.text()).toContain("Type 3 to confirm.");
      }
      const sent = world.api.calls.length;
      const deleted = await confirm(seen, "3");
      expect(deleted.headers.get("location")).toBe(`${page}?type=A&notice=recordsDeleted`);
      expect(world.api.calls.slice(sent).filter((call) => !call.startsWith("GET"))).toEqual([
        `POST /domains/${id}/changes`,
      ]);
      expect(Object.keys(await recordsOf(id))).toEqual(["stays A"]);
    });

    test("that somebody has changed since they were looked at are looked at again, and none of them is deleted", async () => {
      const seen = await (await preview(ids)).text();
      await done(world.real.acme.put(`/domains/${id}/records/www/A`, { values: ["192.0.2.20"] }));
      const stale = await confirm(seen, "3");
      expect(stale.status).toBe(412);
      const again = await stale.text();
      expect(again).toContain("A record was changed in the meantime");
      expect(again).toContain("192.0.2.20");
      expect(Object.keys(await recordsOf(id))).toHaveLength(4);
      expect((await confirm(again, "3")).status).toBe(303);
      expect(Object.keys(await recordsOf(id))).toEqual(["stays A"]);
    });

    test("are left out when they are gone, one is confirmed by its name, and nothing chosen says so", async () => {
      const one = await (await preview(["A/old", "A/gone", "nonsense"])).text();
      expect(one).toContain("Delete 1 record?");
      expect((await confirm(one, "1")).status).toBe(422);
      expect((await confirm(one, "old A")).status).toBe(303);
      for (const chosen of [[], ["A/old"]]) {
        const nothing = await preview(chosen);
        expect(nothing.status).toBe(422);
        expect(await nothing.text()).toContain("Nothing to delete");
      }
      expect(Object.keys(await recordsOf(id))).toHaveLength(3);
    });
  });

  test("are exported as a zone file", async () => {
    await add({});
    const file = await ada.get(`${page}/zone-file`);
    expect(file.headers.get("content-disposition")).toContain("attachment");
    expect(await file.text()).toContain("192.0.2.10");
  });
});

describe("a zone file", () => {
  let id: string;
  let page: string;
  beforeEach(async () => {
    id = await addDomain(world.real, "shop.example", { zone_file: "www A 192.0.2.1\nold A 192.0.2.2\n" });
    page = `/domains/${id}/import`;
  });
  const preview = (zone_file: string, mode = "merge") => ada.submit(page, page, { zone_file, mode });
  const apply = (html: string, zone_file: string, mode: string) =>
    ada.submit(page, `${page}/apply`, { zone_file, mode, generation: fieldIn(html, "generation") ?? "" });

  test("is imported after a look at what it would change", async () => {
    const file = "www A 192.0.2.9\nnew 60 A 192.0.2.3\n";
    const seen = await (await preview(file, "replace")).text();
    expect(seen).toContain("1 new, 1 changed, 1 deleted");
    expect((await recordsOf(id))["www A"]).toEqual(["192.0.2.1"]);
    const done = await apply(seen, file, "replace");
    expect(done.headers.get("location")).toBe(`/domains/${id}?notice=imported`);
    expect(await recordsOf(id)).toEqual({ "new A": ["192.0.2.3"], "www A": ["192.0.2.9"] });
    expect(await (await preview(file, "replace")).text()).toContain("Nothing would change");
  });

  test("names its wrong lines, and changes nothing", async () => {
    const refused = await preview("www A 192.0.2.9\nmail MX mail\n");
    expect(refused.status).toBe(422);
    const html = await refused.text();
    expect(html).toContain("Line 2");
    expect(html).toContain("<code>mail MX mail</code>");
    expect(html).not.toContain('id="preview"');
  });

  test("that was looked at before another change is looked at again", async () => {
    const file = "new A 192.0.2.3\n";
    const seen = await (await preview(file)).text();
    await done(world.real.acme.put(`/domains/${id}/records/new/A`, { values: ["192.0.2.4"] }));
    const stale = await apply(seen, file, "merge");
    expect(stale.status).toBe(412);
    const again = await stale.text();
    expect(again).toContain("The domain was changed since the preview");
    expect(again).toContain("0 new, 1 changed, 0 deleted");
    expect((await recordsOf(id))["new A"]).toEqual(["192.0.2.4"]);
  });
});

describe("delegation", () => {
  test("says that it is right, and a check at this moment names the server that does not answer", async () => {
    const id = await addDomain(world.real, "shop.example");
    await serve(world.real, id);
    const page = `/domains/${id}/delegation`;
    expect(await ada.page(page)).toContain("Nothing is left to do");
    const report = await ada.page(`${page}?check=now`);
    expect(report).toContain("Something is not right");
    expect(report).toContain("does not answer");
    const turkish = await (await inTurkish()).page(`${page}?check=now`);
    const { name_servers } = await read(id);
    expect(turkish).toContain(
      `Yanıt vermeyen ad sunucuları: ${name_servers.map((name: string) => `${name} (127.0.0.1)`).join(", ")}.`,
    );
    expect(turkish).toContain("Bir işletmenin bakması gerekir.");
    expect(turkish).not.toContain("does not answer");
  }, 60_000);

  test("of a domain that cannot be looked for says so, and the page stays", async () => {
    const id = await addDomain(world.real, "shop.example");
    const page = `/domains/${id}/delegation`;
    const answer = await ada.submit(page, `/domains/${id}/verify`, {});
    expect(answer.status).toBe(409);
    const html = await answer.text();
    expect(html).toContain("The name servers could not be asked");
    expect(html).toContain('id="proof-value"');
  }, 60_000);
});

describe("a served domain", () => {
  let id: string;
  beforeEach(async () => {
    id = await addDomain(world.real, "shop.example");
    await serve(world.real, id);
  });

  test("is signed, shows the DS records to copy, and warns before signing ends", async () => {
    const page = `/domains/${id}/dnssec`;
    const on = await ada.submit(page, page, { enabled: "yes" });
    expect(on.headers.get("location")).toBe(`${page}?notice=signed`);
    expect((await read(id)).dnssec.enabled).toBe(true);
    expect(await ada.page(page)).toContain("The keys are being made");
    await serve(world.real, id);
    await sign(world.real, id);
    const signed = await ada.page(page);
    expect(signed).toMatch(/id="ds-0">12345 13 2 abab/);
    expect(signed).toContain("First remove the DS records");
    await ada.submit(page, page, { enabled: "no", force: "on" });
    expect((await read(id)).dnssec.enabled).toBe(false);
  });

  test("cannot be deleted while one inside of it has no proof of its own, for which it shows what to enter", async () => {
    const inside = (await done(world.real.acme.post("/domains", { name: "eu.shop.example" }))).domain.id;
    const page = await ada.page(`/domains/${inside}/delegation`);
    expect(page).toContain("A proof of its own");
    expect(page).toContain("_kule-verification.eu.shop.example");
    const typed = { confirm_name: "shop.example" };
    const refused = await ada.submit(`/domains/${id}/settings`, `/domains/${id}/delete`, typed);
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("eu.shop.example would end with shop.example");
    expect((await read(id)).status).toBe("active");
  });

  test("shows what was changed on its name servers, and puts it right", async () => {
    await changeAtProvider(world.real, id);
    expect(await ada.page(`/domains/${id}`)).toContain(`href="/domains/${id}/settings#drift"`);
    const settings = `/domains/${id}/settings`;
    const page = await ada.page(settings);
    for (const words of ["203.0.113.99", "unexpected", "left over", "Put right"])
      expect(page).toContain(words);
    const asked = await ada.submit(settings, `/domains/${id}/apply`, {});
    expect(asked.headers.get("location")).toBe(`${settings}?notice=applied`);
    expect((await read(id)).job_id).not.toBeNull();
  });

  test("has settings, is protected, marked for removal by its name, and brought back", async () => {
    const settings = `/domains/${id}/settings`;
    const saved = await ada.submit(settings, settings, { ttl: "300", description: "web", protect: "on" });
    expect(saved.headers.get("location")).toBe(`${settings}?notice=changed`);
    expect(await read(id)).toMatchObject({ ttl: 300, description: "web", protection: { delete: true } });
    expect(await ada.page(settings)).toContain("is protected against deletion");
    const short = await ada.submit(settings, settings, { ttl: "5", description: "" });
    expect(short.status).toBe(422);
    expect(await short.text()).toContain('id="ttl-problem"');
    await ada.submit(settings, settings, { ttl: "300", description: "" });
    const remove = (confirm_name: string, act = "delete") =>
      ada.submit(settings, `/domains/${id}/${act}`, { confirm_name });
    expect((await remove("other")).status).toBe(422);
    expect((await remove("shop.example")).headers.get("location")).toBe("/domains?notice=deleted");
    expect((await read(id)).status).toBe("pending_deletion");
    expect(await ada.page(`/domains/${id}`)).toContain(`action="/domains/${id}/cancel-deletion"`);
    expect(await ada.page(`/domains/${id}`)).not.toContain("?add=yes");
    await ada.submit(settings, `/domains/${id}/cancel-deletion`, {});
    expect((await read(id)).status).not.toBe("pending_deletion");
    await remove("shop.example");
    expect((await remove("shop.example", "purge")).headers.get("location")).toBe("/domains?notice=purged");
    expect((await read(id)).status).toBe("deleting");
  });
});

test("names inside of a domain that other organisations keep are shown where it leads, with how to take one", async () => {
  const id = await addDomain(world.real, "shop.example");
  await serve(world.real, id);
  const path = `/domains/${id}/delegation`;
  expect(await ada.page(path)).not.toContain('id="kept-delegations"');
  await world.real.sql("update domain set kept_delegations = $2 where id = $1", [id, ["old.shop.example"]]);
  const page = await ada.page(path);
  expect(page).toMatch(/id="kept-delegations"[\s\S]*old\.shop\.example[\s\S]*href="\/domains\/new"/);
  expect(await (await inTurkish()).page(path)).toContain("Başka kuruluşların adları");
  const seen = await (await world.signedIn("vera")).page(path);
  expect(seen).toContain("old.shop.example");
  expect(seen).not.toMatch(/id="kept-delegations"[\s\S]*href="\/domains\/new"/);
});

test("a domain that is not proven is deleted at once", async () => {
  const id = await addDomain(world.real, "shop.example");
  const settings = `/domains/${id}/settings`;
  const deleted = await ada.submit(settings, `/domains/${id}/delete`, { confirm_name: "shop.example" });
  expect(deleted.headers.get("location")).toBe("/domains?notice=gone");
  expect(await world.real.list("/domains")).toEqual([]);
});

test("a viewer sees everything and can change nothing", async () => {
  const id = await addDomain(world.real, "shop.example", { zone_file: "www A 192.0.2.1\n" });
  await serve(world.real, id);
  const vera = await world.signedIn("vera");
  const page = await vera.page(`/domains/${id}`);
  expect(page).toContain("192.0.2.1");
  expect(page).not.toContain('type="checkbox" id="choose-');
  for (const path of ["", "/delegation", "/dnssec", "?add=yes", "?edit=www&edit_type=A"])
    expect(await vera.page(`/domains/${id}${path}`), path).not.toMatch(
      new RegExp(`method="post" action="/domains/${id}`),
    );
  for (const tab of ["import", "settings"]) expect(page).not.toContain(`href="/domains/${id}/${tab}"`);
  for (const path of ["/domains/new", `/domains/${id}/import`])
    expect((await vera.get(path)).status).toBe(403);
});
