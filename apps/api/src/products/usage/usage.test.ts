import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ServerWorld } from "../../testing/server-world.ts";
import { sweepRemovalBuffers } from "../../worker/expire-removal-buffer.ts";

let world: ServerWorld;
beforeAll(async () => {
  world = await ServerWorld.open();
});
afterAll(() => world.close());

type Segment = { id: string; kind: string; start: string; end: string | null; quantity: object };

const segments = async (id: string, owner = world.owned) =>
  (await owner.get(`/usage/segments?resource=${id}`)).body.items as Segment[];
const shape = (all: Segment[]) => all.map(({ kind, end }) => `${kind} ${end === null ? "open" : "closed"}`);
const text = async (caller: ApiCaller, path: string) => {
  const response = await caller.app.request(`/api/v1${path}`, {
    headers: { Authorization: `Bearer ${caller.token}` },
  });
  return { response, text: () => response.text() };
};

describe("usage of a server", () => {
  test("is a disk from its creation to its destruction, and compute while it runs", async () => {
    const { id } = await world.createRunning({ package: "m" });
    expect(shape(await segments(id)).sort()).toEqual(["compute open", "disk open"]);
    expect((await segments(id)).map(({ quantity }) => quantity)).toEqual(
      expect.arrayContaining([{ vcpu: 2, memory_mb: 4096 }, { disk_gb: 80 }]),
    );

    await world.owned.delete(`/servers/${id}`);
    // Deleted and not stopped yet: it runs, and that is counted.
    expect(shape(await segments(id)).sort()).toEqual(["compute open", "disk open"]);
    await world.agent.work();
    // In the removal buffer: the disk is kept and counted, vCPUs and memory are not.
    expect(shape(await segments(id)).sort()).toEqual(["compute closed", "disk open"]);

    await world.owned.post(`/servers/${id}/cancel-deletion`);
    await world.agent.work();
    expect(shape(await segments(id)).sort()).toEqual(["compute closed", "compute open", "disk open"]);

    await world.owned.delete(`/servers/${id}`);
    await world.agent.work();
    await world.passBuffer(id);
    await sweepRemovalBuffers(world.world.replica.deps);
    await world.agent.work();
    const all = await segments(id);
    expect(shape(all).sort()).toEqual(["compute closed", "compute closed", "disk closed"]);
    const events = (await world.owned.get(`/usage?resource=${id}`)).body.items;
    expect(events.map(({ kind, source }: { kind: string; source: string }) => [kind, source])).toEqual([
      ["disk.allocated", "verify"],
      ["server.started", "verify"],
      ["server.purge_scheduled", "request"],
      ["server.stopped", "verify"],
      ["server.started", "verify"],
      ["server.purge_scheduled", "request"],
      ["server.stopped", "verify"],
      ["disk.released", "verify"],
      ["server.purged", "verify"],
    ]);
    const disk = all.find(({ kind }) => kind === "disk");
    expect([disk?.start, disk?.end]).toEqual([events[0].at, events[7].at]);
  });

  test("is none before it is created, and none of a create that failed", async () => {
    const { server } = await world.create();
    const job = await world.agent.take("ServerCreate");
    expect(await segments(server.id)).toEqual([]);
    await world.agent.fail(job);
    expect(await segments(server.id)).toEqual([]);
  });

  test("keeps its interval when Postgres' clock is set back", async () => {
    const { id: organisation, owner } = await world.world.addOrganisation("clock");
    const { server } = await world.create({}, owner);
    await world.agent.work();
    // As if it had been created an hour later than it is now.
    for (const later of [
      "update usage_event set at = at + interval '1 hour' where organisation_id = $1",
      "update usage_segment set started_at = started_at + interval '1 hour' where organisation_id = $1",
    ])
      await world.owner.query(later, [organisation]);
    await owner.delete(`/servers/${server.id}`);
    await world.agent.work();
    const events = (await owner.get("/usage")).body.items as { at: string }[];
    const times = events.map(({ at }) => at);
    expect(times).toEqual([...times].sort());
    const [compute] = (await segments(server.id, owner)).filter(({ kind }) => kind === "compute");
    expect(compute?.end).not.toBeNull();
    expect(Date.parse(compute?.end ?? "") - Date.parse(compute?.start ?? "")).toBeGreaterThanOrEqual(0);
  });

  test("is one open segment of a kind: the database refuses a second, and one that overlaps", async () => {
    const { id } = await world.createRunning();
    const again = (set: string) =>
      world.owner.query(
        `insert into usage_segment (id, organisation_id, region, resource_type, resource_id, resource_name, kind, quantity, labels,
                                    started_at, ended_at, opened_by, closed_by)
         select n.id, n.organisation_id, n.region, n.resource_type, n.resource_id, n.resource_name, n.kind, n.quantity, n.labels,
                n.started_at, n.ended_at, n.opened_by, n.closed_by
           from usage_segment s, jsonb_populate_record(s, jsonb_build_object('id', s.id || '_2') || ${set}) n
          where s.resource_id = $1 and s.kind = 'disk'`,
        [id],
      );
    await expect(again("'{}'")).rejects.toMatchObject({ code: expect.stringMatching(/^23(505|P01)$/) });
    await expect(
      again(
        "jsonb_build_object('started_at', s.started_at - interval '1 hour', 'ended_at', s.started_at + interval '1 second', 'closed_by', s.opened_by)",
      ),
    ).rejects.toMatchObject({ code: "23P01" });
  });
});

describe("what is listed", () => {
  let owner: ApiCaller;
  let ids: string[];
  beforeAll(async () => {
    const made = await world.world.addOrganisation("listed");
    owner = made.owner;
    ids = [];
    for (const labels of [{ team: "a" }, { team: "b" }, {}]) {
      const { server } = await world.create({ labels, package: "s" }, owner);
      ids.push(server.id);
      await world.agent.work();
    }
  });

  test("can be cut down by kind, resource, region, labels and time", async () => {
    const count = async (path: string) => {
      const answer = await owner.get(path);
      expect([path, answer.status]).toEqual([path, 200]);
      return answer.body.items.length;
    };
    expect(await count("/usage")).toBe(6);
    expect(await count("/usage?kind=disk.allocated")).toBe(3);
    expect(await count("/usage?kind=disk.allocated&kind=server.started")).toBe(6);
    expect(await count(`/usage?resource=${ids[0]}`)).toBe(2);
    expect(await count("/usage?region=elsewhere")).toBe(0);
    expect(await count("/usage?label_selector=team")).toBe(4);
    expect(await count("/usage/segments")).toBe(6);
    expect(await count("/usage/segments?kind=compute&label_selector=team=a")).toBe(1);
    const { items } = (await owner.get("/usage?kind=disk.allocated")).body;
    const second = items[1].at;
    expect(await count(`/usage?from=${second}&kind=disk.allocated`)).toBe(2);
    expect(await count(`/usage?to=${second}&kind=disk.allocated`)).toBe(1);
    // Segments that touch the window: all have begun before its end, and none has ended.
    expect(await count(`/usage/segments?kind=disk&from=2000-01-01T00:00:00Z&to=${second}`)).toBe(1);
    expect(await count("/usage/segments?from=2100-01-01T00:00:00Z")).toBe(6);
  });

  test("comes page by page, without a gap or a repetition", async () => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const { body } = await owner.get(
        `/usage/segments?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...body.items.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(new Set(seen).size).toBe(6);
    expect(seen).toHaveLength(6);
  });

  test("sums up by resource with its name, and refuses an unsupported grouping", async () => {
    const { body } = await owner.get(`/usage/summary?resource=${ids[0]}`);
    expect(body).toMatchObject({ group_by: "resource", next_cursor: null });
    const [item] = body.items;
    expect(item).toMatchObject({ group: ids[0], type: "server", public_ip_seconds: 0 });
    expect(item.name).toMatch(/^server-/);
    expect(item.disk_gb_seconds).toBeCloseTo(item.disk_seconds * 40, 3);
    for (const bad of [
      "group_by=colour",
      "group_by=label:",
      "from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z",
      "from=2020-01-01T00:00:00Z",
      "from=1990-12-31T23:59:60Z",
    ])
      expect([bad, (await owner.get(`/usage/summary?${bad}`)).status]).toEqual([bad, 422]);
    // A window that has not begun is empty.
    expect((await owner.get("/usage/summary?from=2100-01-01T00:00:00Z")).body.items).toEqual([]);
  });

  test("is visible to its own organisation only", async () => {
    const stranger = (await world.world.addOrganisation("stranger")).owner;
    for (const path of ["/usage", "/usage/segments", "/usage/summary"])
      expect((await stranger.get(`${path}?resource=${ids[0]}`)).body.items).toEqual([]);
    expect(await (await text(stranger, `/usage/export.ndjson?resource=${ids[0]}`)).text()).toBe("");
  });
});

describe("the export", () => {
  const rows = 1_700;
  let owner: ApiCaller;
  let organisation: string;
  beforeAll(async () => {
    const made = await world.world.addOrganisation("exported");
    owner = made.owner;
    organisation = made.id;
    await world.owner.query(
      `insert into usage_event (id, organisation_id, seq, kind, at, region, resource_type, resource_id, resource_name,
                                package, quantity, labels)
       select 'use_x' || i, $1, i, 'disk.allocated', now() - interval '1 day' + i * interval '1 second', 'ist1', 'server',
              'srv_x' || i, case i when 1 then '=cmd|''/c calc''!A1' else 'n' || i end, 's', '{"disk_gb": 40}',
              '{"note": "a.b"}' from generate_series(1, ${rows}) i`,
      [made.id],
    );
  });

  test("has every segment once, as CSV that no spreadsheet runs", async () => {
    const { response, text: read } = await text(owner, "/usage/export.csv");
    expect(response.headers.get("Content-Type")).toContain("text/csv");
    expect(response.headers.get("Content-Disposition")).toBe('attachment; filename="usage-segments.csv"');
    const lines = (await read()).trimEnd().split("\r\n");
    expect(lines).toHaveLength(rows + 1);
    expect(lines[0]).toBe(
      "id,kind,start,end,region,resource_type,resource_id,resource_name,package,vcpu,memory_mb,disk_gb,count,labels,managed_by_type,managed_by_id,managed_by_name",
    );
    expect(lines[1]).toContain(`"'=cmd|'/c calc'!A1"`);
    expect(lines[2]).toMatch(/,disk,.*,ist1,server,srv_x2,n2,s,,,40,,"\{""note"":""a.b""\}",,,$/);
    expect(new Set(lines).size).toBe(rows + 1);
  });

  test("has every event once, one JSON object a line", async () => {
    const { response, text: read } = await text(
      owner,
      "/usage/export.ndjson?of=events&to=2100-01-01T00:00:00Z",
    );
    expect(response.headers.get("Content-Type")).toBe("application/x-ndjson");
    const events = (await read())
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: rows }, (_, index) => index + 1));
    const answer = await owner.get("/usage?limit=1");
    expect(answer).toMatchObject({ status: 200 });
    const [listed] = answer.body.items;
    expect(events[0]).toEqual(listed);
  });

  test("reads on only as it is read, and breaks off when its token is revoked", async () => {
    const made = await owner.post("/tokens", { name: "export", role: "billing" });
    const caller = new ApiCaller(owner.app, made.body.secret);
    const { response } = await text(caller, "/usage/export.ndjson");
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value).split("\n")).toHaveLength(501);
    await owner.delete(`/tokens/${made.body.token.id}`);
    await expect(
      (async () => {
        for (;;) if ((await reader?.read())?.done !== false) return;
      })(),
    ).rejects.toThrow("revoked");
  });

  test("says what is wrong before it begins", async () => {
    for (const bad of ["of=prices", "from=yesterday", "label_selector=!!", "kind=disk"])
      expect([bad, (await owner.get(`/usage/export.ndjson?${bad}`)).status]).toEqual([bad, 422]);
    const agent = await world.agent.api.get("/usage/export.csv");
    expect(agent.status).toBe(403);
    expect(organisation).toBeTruthy();
  });
});
