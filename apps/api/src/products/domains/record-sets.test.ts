import { recordTypes } from "@kule/rules/domains/record-types";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DomainWorld } from "../../testing/domain-world.ts";

let world: DomainWorld;

beforeAll(async () => {
  world = await DomainWorld.open();
}, 60_000);
afterAll(() => world?.close());

const samples: { readonly [type in (typeof recordTypes)[number]]: readonly [string, string] } = {
  A: ["192.0.2.10", "192.0.2.10"],
  AAAA: ["2001:DB8:0::1", "2001:db8::1"],
  CNAME: ["Web.Example.NET", "web.example.net."],
  MX: ["10 mail.example.net", "10 mail.example.net."],
  TXT: ["v=spf1 -all", '"v=spf1 -all"'],
  NS: ["ns1.example.net", "ns1.example.net."],
  SRV: ["10 5 5060 sip.example.net", "10 5 5060 sip.example.net."],
  CAA: ["0 issue letsencrypt.org", '0 issue "letsencrypt.org"'],
  PTR: ["host.example.net", "host.example.net."],
  TLSA: [`3 1 1 ${"AB".repeat(32)}`, `3 1 1 ${"ab".repeat(32)}`],
  SSHFP: [`4 2 ${"CD".repeat(32)}`, `4 2 ${"cd".repeat(32)}`],
};

describe("a record set", () => {
  test.each(recordTypes)("of type %s is answered in its canonical form", async (type) => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/records/x/${type}`;
    const put = await world.owner.put(path, { values: [samples[type][0]] });
    expect([put.status, put.body.record_set?.values]).toEqual([201, [samples[type][1]]]);
    expect(put.body).toMatchObject({
      record_set: { name: "x", fqdn: `x.${domain.name}`, type, ttl: 3_600, etag: '"r1"', addresses: null },
      job: null,
    });
    // By the domain's name as by its id, in capitals and with the final dot.
    const again = await world.owner.get(`/domains/${domain.name}/records/X.${domain.name}./${type}`);
    expect([again.status, again.body, again.headers.get("etag")]).toEqual([200, put.body.record_set, '"r1"']);
  });

  test("that is written as it is changes nothing; another one counts its version", async () => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/records/www/A`;
    await world.owner.put(path, { values: ["192.0.2.2", "192.0.2.1"], comment: "web" });
    const same = await world.owner.put(path, { values: ["192.0.2.1", "192.0.2.2"] });
    expect([same.status, same.body.record_set.etag, same.body.record_set.comment]).toEqual([
      200,
      '"r1"',
      "web",
    ]);
    const commented = await world.owner.put(path, {
      values: ["192.0.2.1", "192.0.2.2"],
      managed_by: "terraform",
    });
    expect(commented.body.record_set).toMatchObject({
      etag: '"r2"',
      managed_by: "terraform",
      comment: "web",
    });
    const other = await world.owner.put(path, { values: ["192.0.2.3"], ttl: 60 });
    expect(other.body.record_set).toMatchObject({ etag: '"r3"', ttl: 60, values: ["192.0.2.3"] });
  });

  test("is replaced only as the caller has seen it, and created only where there is none", async () => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/records/www/A`;
    const values = ["192.0.2.1"];
    expect((await world.owner.put(path, { values }, { "If-Match": '"r1"' })).status).toBe(412);
    expect((await world.owner.put(path, { values }, { "If-None-Match": "*" })).status).toBe(201);
    expect((await world.owner.put(path, { values }, { "If-None-Match": "*" })).status).toBe(412);
    const stale = await world.owner.put(path, { values: ["192.0.2.9"] }, { "If-Match": '"r7"' });
    expect([stale.status, stale.body.code]).toEqual([412, "precondition_failed"]);
    expect((await world.owner.put(path, { values: ["192.0.2.9"] }, { "If-Match": '"r1"' })).status).toBe(200);
    expect((await world.owner.delete(path, { "If-Match": '"r1"' })).status).toBe(412);
    const gone = await world.owner.delete(path, { "If-Match": '"r2"' });
    expect([gone.status, gone.body.deleted.length]).toEqual([200, 1]);
    expect((await world.owner.get(path)).status).toBe(404);
    expect((await world.owner.delete(path)).status).toBe(404);
  });

  test("that cannot be is refused with the place, the rule and what to do", async () => {
    const domain = await world.domain();
    const at = (name: string, type: string) =>
      `/domains/${domain.id}/records/${encodeURIComponent(name)}/${type}`;
    const wrong = async (path: string, body: object) => {
      const { status, body: answer } = await world.owner.put(path, body);
      return [
        status,
        answer.errors?.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`),
      ];
    };
    expect(await wrong(at("@", "CNAME"), { values: ["a.example.net"] })).toEqual([
      422,
      ["record_name conflicts_with"],
    ]);
    expect(await wrong(at("x", "A"), { values: ["192.0.2.1", "300.1.1.1", "www"] })).toEqual([
      422,
      ["/values/1 invalid_format", "/values/2 invalid_format"],
    ]);
    expect(await wrong(at("x", "A"), { ttl: 59, values: ["192.0.2.1"] })).toEqual([
      422,
      ["/ttl out_of_range"],
    ]);
    expect(await wrong(at("www.other.example.", "A"), { values: ["192.0.2.1"] })).toEqual([
      422,
      ["record_name out_of_range"],
    ]);
    expect(await wrong(at("x", "SOA"), { values: ["x"] })).toEqual([422, ["record_type invalid_format"]]);
    await world.owner.put(at("x", "A"), { values: ["192.0.2.1"] });
    expect(await wrong(at("x", "CNAME"), { values: ["a.example.net"] })).toEqual([
      422,
      ["record_type conflicts_with"],
    ]);
    expect(await wrong(at("x", "AAAA"), { values: ["auto:srv_06ex2v3m8n4k6q1r5s7t9w0y2z"] })).toEqual([
      422,
      ["/values/0 not_found"],
    ]);
  });

  test("of TXT keeps every byte, and a long one is divided", async () => {
    const domain = await world.domain();
    const long = "x".repeat(600);
    const hostile = `say "; DROP TABLE domain; -- \\ \u202e ü`;
    const put = await world.owner.put(`/domains/${domain.id}/records/long/TXT`, { values: [long] });
    expect(put.body.record_set.values).toEqual([
      `"${"x".repeat(255)}" "${"x".repeat(255)}" "${"x".repeat(90)}"`,
    ]);
    const told = await world.owner.put(`/domains/${domain.id}/records/odd/TXT`, {
      values: [hostile],
    });
    expect(told.status).toBe(201);
    const read = await world.owner.get(`/domains/${domain.id}/records/odd/TXT`);
    expect(read.body.values).toEqual(told.body.record_set.values);
    expect(read.body.values[0]).toMatch(/^"[\x20-\x7e]+"$/);
  });
});

describe("values of a record set", () => {
  test("that two programs add at once are all kept, and each removes its own", async () => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/records/_acme-challenge/TXT`;
    const tokens = Array.from({ length: 8 }, (_, index) => `token-${index}`);
    const added = await Promise.all(
      tokens.map((token) => world.owner.post(`${path}/values`, { add: [token] })),
    );
    expect(added.map(({ status }) => status)).toEqual(tokens.map(() => 200));
    expect((await world.owner.get(path)).body.values.toSorted()).toEqual(tokens.map((token) => `"${token}"`));
    await Promise.all(
      tokens.slice(1).map((token) => world.owner.post(`${path}/values`, { remove: [token] })),
    );
    expect((await world.owner.get(path)).body.values).toEqual(['"token-0"']);
    const nothing = await world.owner.post(`${path}/values`, { remove: ["token-7"] });
    expect(nothing.body).toMatchObject({ created: [], changed: [], deleted: [] });
    const last = await world.owner.post(`${path}/values`, { remove: ["token-0"] });
    expect(last.body.deleted).toHaveLength(1);
    expect((await world.owner.get(path)).status).toBe(404);
  });

  test("that are wrong are named where they are", async () => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/records/www/A/values`;
    const wrong = await world.owner.post(path, { add: ["192.0.2.1", "no"], remove: ["neither"] });
    expect(wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "/remove/0",
      "/add/1",
    ]);
  });
});

describe("a list of changes", () => {
  test("is done as a whole, and a dry run shows the difference without a change", async () => {
    const domain = await world.domain();
    await world.owner.put(`/domains/${domain.id}/records/old/A`, { values: ["192.0.2.1"] });
    const changes = [
      { op: "delete", name: "old", type: "A" },
      { op: "upsert", name: "old", type: "CNAME", values: ["www"] },
      { op: "upsert", name: "www", type: "A", ttl: 300, values: ["192.0.2.2"] },
    ];
    const wrong = await world.owner.post(`/domains/${domain.id}/changes`, { changes });
    expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/changes/1/values/0"]);
    const right = changes.with(1, {
      op: "upsert",
      name: "old",
      type: "CNAME",
      values: [`www.${domain.name}`],
    });
    const tried = await world.owner.post(`/domains/${domain.id}/changes?dry_run=true`, { changes: right });
    expect(tried.body).toMatchObject({
      dry_run: true,
      created: [{ name: "old", type: "CNAME" }, { name: "www" }],
      changed: [],
      deleted: [{ name: "old", type: "A" }],
      job: null,
    });
    expect((await world.owner.get(`/domains/${domain.id}/records`)).body.items).toHaveLength(1);
    const done = await world.owner.post(`/domains/${domain.id}/changes`, { changes: right });
    expect([done.status, done.body.created.length, done.body.deleted.length]).toEqual([200, 2, 1]);
    expect((await world.owner.get(`/domains/${domain.id}`)).body.record_count).toBe(2);
  });

  test("with one stale etag changes nothing and says which", async () => {
    const domain = await world.domain();
    await world.owner.put(`/domains/${domain.id}/records/a/A`, { values: ["192.0.2.1"] });
    const answer = await world.owner.post(`/domains/${domain.id}/changes`, {
      changes: [
        { op: "upsert", name: "b", type: "A", values: ["192.0.2.2"] },
        { op: "delete", name: "a", type: "A", if_match: '"r9"' },
      ],
    });
    expect([answer.status, answer.body.detail]).toEqual([412, expect.stringContaining("a A")]);
    expect((await world.owner.get(`/domains/${domain.id}/records/b/A`)).status).toBe(404);
  });

  test("that would make the domain too large is refused as a whole", async () => {
    const domain = await world.domain();
    await world.rows("update domain set record_limit = 2 where id = $1", [domain.id]);
    const changes = ["a", "b", "c"].map((name) => ({ op: "upsert", name, type: "A", values: ["192.0.2.1"] }));
    const full = await world.owner.post(`/domains/${domain.id}/changes`, { changes });
    expect([full.status, full.body.precondition.name]).toEqual([409, "domain_has_room"]);
    const fits = await world.owner.post(`/domains/${domain.id}/changes`, { changes: changes.slice(1) });
    expect(fits.status).toBe(200);
  });

  test("sent twice with one key is done once", async () => {
    const domain = await world.domain();
    const body = { changes: [{ op: "upsert", name: "a", type: "A", values: ["192.0.2.1"] }] };
    const key = { "Idempotency-Key": "once" };
    const [first, second] = [
      await world.owner.post(`/domains/${domain.id}/changes`, body, key),
      await world.owner.post(`/domains/${domain.id}/changes`, body, key),
    ];
    expect(second.body).toEqual(first.body);
    expect((await world.owner.get(`/domains/${domain.id}/records/a/A`)).body.etag).toBe('"r1"');
  });
});

describe("a zone file", () => {
  const everyType = (name: string) =>
    recordTypes.map((type) => `${type.toLowerCase()} 300 IN ${type} ${samples[type][1]}`).join("\n") +
    `\n@ 3600 IN SOA ns1.example.net. host.example.net. 1 2 3 4 5\n@ IN NS ns1.example.net.\n; of ${name}\n`;

  test("is previewed, taken, and exported so that taking it again changes nothing", async () => {
    const domain = await world.domain();
    const path = `/domains/${domain.id}/zone-file`;
    const body = { zone_file: everyType(domain.name) };
    const preview = await world.owner.post(`${path}?dry_run=true`, body);
    expect([preview.status, preview.body.created.length]).toEqual([200, recordTypes.length]);
    expect((await world.owner.get(`/domains/${domain.id}`)).body.record_count).toBe(0);
    expect((await world.owner.post(path, body)).body.created).toHaveLength(recordTypes.length);
    const exported = await world.owner.get(path);
    expect(exported.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const again = await world.owner.post(path, { zone_file: exported.body, mode: "replace" });
    expect([again.status, again.body]).toMatchObject([
      200,
      { created: [], changed: [], deleted: [], job: null },
    ]);
  });

  test("replaces what it does not have only when asked to", async () => {
    const domain = await world.domain();
    await world.owner.put(`/domains/${domain.id}/records/old/A`, { values: ["192.0.2.1"] });
    const path = `/domains/${domain.id}/zone-file`;
    const zone_file = "new 300 IN A 192.0.2.2\n";
    expect((await world.owner.post(path, { zone_file })).body).toMatchObject({
      created: [{ name: "new" }],
      deleted: [],
    });
    const replaced = await world.owner.post(path, { zone_file, mode: "replace" });
    expect(replaced.body).toMatchObject({ created: [], deleted: [{ name: "old" }] });
  });

  test("with errors is refused with the line of each, at most a hundred, and the number of the others", async () => {
    const domain = await world.domain();
    const zone_file = Array.from({ length: 150 }, (_, index) => `x${index} 300 IN A nowhere`).join("\n");
    const wrong = await world.owner.post(`/domains/${domain.id}/zone-file`, { zone_file });
    expect([wrong.status, wrong.body.errors.length, wrong.body.errors_left_out]).toEqual([422, 100, 50]);
    expect(wrong.body.errors[7]).toMatchObject({
      field: "zone_file",
      message: expect.stringMatching(/^line 8 \(x7 A\): "nowhere" is not an IPv4 address/),
    });
  });

  test("of 10,000 records is taken within seconds, and its list has pages", async () => {
    const domain = await world.domain();
    const zone_file = Array.from(
      { length: 10_000 },
      (_, index) => `h${index} 300 IN A 192.0.2.${index % 250}`,
    ).join("\n");
    const begun = performance.now();
    const taken = await world.owner.post(`/domains/${domain.id}/zone-file`, { zone_file });
    expect(performance.now() - begun).toBeLessThan(20_000);
    expect([taken.status, taken.body.created.length, taken.body.left_out]).toEqual([200, 1_000, 9_000]);
    let cursor: string | null = null;
    const names = new Set<string>();
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const page = await world.owner.get(`/domains/${domain.id}/records?limit=200${query}`);
      for (const { name } of page.body.items) names.add(name);
      cursor = page.body.next_cursor;
    } while (cursor !== null && names.size < 600);
    expect(names.size).toBe(600);
    const found = await world.owner.get(`/domains/${domain.id}/records?q=H9999&type=A&type=TXT`);
    expect(found.body.items).toMatchObject([{ name: "h9999", values: ["192.0.2.249"] }]);
  }, 60_000);
});

test("record sets of a domain that is being deleted cannot be changed", async () => {
  const domain = await world.domain();
  await world.rows(
    "update domain set status = 'pending_deletion', verified_by = 'record', purge_at = now() + interval '1 day', deletion_requested_at = now() where id = $1",
    [domain.id],
  );
  const refused = await world.owner.put(`/domains/${domain.id}/records/www/A`, { values: ["192.0.2.1"] });
  expect([refused.status, refused.body.precondition.name]).toEqual([409, "domain_not_deleting"]);
});
