import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "../../testing/panel-world.ts";
import { done } from "../../testing/scene-api.ts";
import type { FactsOf } from "../../testing/scenes/scene.ts";
import { servers } from "../../testing/scenes/servers.ts";
import { Visitor } from "../../testing/visitor.ts";
import { elsewhere, sessionTokenOf } from "../../testing/visitor-session.ts";

let world: PanelWorld<FactsOf<typeof servers>>;
let ada: Visitor;
/** The stream of a job that waits for the agent. */
let events: string;
beforeEach(async () => {
  world = await startPanelWorld(servers);
  ada = await world.signedIn("ada");
  const { acme } = world.real;
  const path = `/servers/${world.facts.servers["web-1"]}/power`;
  const { job } = await done(acme.post(path, { action: "reboot" }));
  events = `/jobs/${job.id}/events`;
});
afterEach(() => world.stop());

const upstreamCalls = () => world.api.calls.filter((call) => call.endsWith("/events"));

/** Another organisation, and an operator who acts in it. */
async function addOther(): Promise<{ readonly id: string; readonly operator: ApiCaller }> {
  const { operator } = world.real;
  const { id } = await done(operator.post("/organisations", { slug: "other", name: "Other" }));
  return { id, operator: operator.with({ "Kule-Organisation": id }) };
}

test("many browsers share one stream to the API, which closes with the last of them", async () => {
  const streams = await Promise.all(
    // A compressed stream would keep events back.
    [1, 2, 3].map(() => ada.request(events, { headers: { "accept-encoding": "gzip" } })),
  );
  for (const { headers } of streams) expect(headers.get("content-encoding")).toBeNull();
  const readers = streams.map(({ body }) => body?.getReader());
  await Promise.all(readers.map((reader) => reader?.read()));
  expect(world.jobStreams.upstreams).toBe(1);
  expect(upstreamCalls()).toHaveLength(1);
  await Promise.all(readers.map((reader) => reader?.cancel()));
  await expect.poll(() => world.jobStreams.upstreams).toBe(0);
});

test("a person has at most thirty streams at once, and the next when one has ended", async () => {
  for (let head = 0; head < 40; head += 1)
    expect((await ada.request(events, { method: "HEAD" })).status).toBe(200);
  const streams = [];
  for (let each = 0; each < 30; each += 1) streams.push(await ada.get(events));
  expect(streams.every(({ status }) => status === 200)).toBe(true);
  const refused = await ada.get(events);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
  await streams.pop()?.body?.cancel();
  await expect
    .poll(async () => {
      const next = await ada.get(events);
      if (next.status === 200) streams.push(next);
      return next.status;
    })
    .toBe(200);
  for (const { body } of streams) await body?.cancel();
});

test("a non-member of the organisation gets no stream, although one is open", async () => {
  const reader = (await ada.get(events)).body?.getReader();
  await reader?.read();
  const other = await addOther();
  const [email, password] = ["eve@example.org", "listens to others"];
  await addMember(other.operator, { email, password, role: "admin" });
  const eve = await new Visitor(world).signIn(email, password);
  const hers = (await eve.get(events)).body?.getReader();
  const read = hers?.read();
  // She does not join Ada's stream: the API is asked for one of her own, and has no such job for her.
  await expect.poll(() => upstreamCalls().length).toBe(2);
  await expect.poll(() => world.jobStreams.upstreams).toBe(1);
  await hers?.cancel();
  expect((await read)?.value).toBeUndefined();
  await reader?.cancel();
  expect((await new Visitor(world).get(events)).status).toBe(303);
});

describe("joining a stream that is open already", () => {
  test.each([
    [
      "was revoked meanwhile",
      async () => {
        const devices = elsewhere(world, "ada");
        const [newest] = (await done(devices.get("/me/sessions"))).items;
        await done(devices.delete(`/me/sessions/${newest.id}`));
      },
    ],
    [
      "is for another organisation by now",
      async (leaving: Visitor) => {
        const other = await addOther();
        const { email } = world.facts.people.ada;
        const { secret } = await done(other.operator.post("/invitations", { email, role: "member" }));
        await done(elsewhere(world, "ada").post("/me/organisations", { secret }));
        const session = new ApiCaller(world.real.app, await sessionTokenOf(world, leaving));
        await done(session.post("/auth/switch-organisation", { organisation_id: other.id }));
      },
    ],
  ] as const)("is not for a session that %s", async (_, change) => {
    const reader = (await ada.get(events)).body?.getReader();
    await reader?.read();
    const leaving = await new Visitor(world).signIn();
    await change(leaving);
    const refused = await leaving.get(events);
    expect(refused.status).toBe(303);
    expect(refused.headers.get("content-type") ?? "").not.toContain("event-stream");
    await refused.body?.cancel();
    expect((await ada.get("/servers")).status).toBe(200);
    await reader?.cancel();
  });
});
