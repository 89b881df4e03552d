import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { TestAgent } from "@kule/api/testing/test-agent";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import { answerText, tally } from "../races/answer-text.ts";
import type { RaceWorld } from "./race-world.ts";

type Place = {
  readonly organisation: string;
  readonly owner: ApiCaller;
  readonly region: string;
  readonly agent: TestAgent;
};

/** Each region has addresses of its own. */
let nets = 0;

/** A region with a pool of which an organisation may take so many addresses. */
async function newPlace(world: RaceWorld, version: 4 | 6, addresses: number): Promise<Place> {
  const { world: api } = world.servers;
  const { id, owner } = await api.addOrganisation(world.nextName());
  const { slug, agent } = await api.addRegion(world.nextName());
  nets += 1;
  const [gateway, prefix_length, cidr] =
    version === 4
      ? [`100.${64 + nets}.0.1`, 24, `100.${64 + nets}.0.0/24`]
      : [`2001:db8:${nets}::1`, 64, `2001:db8:${nets}::/120`];
  const pool = await api.operator.post("/ip-pools", { region: slug, name: slug, gateway, prefix_length });
  const made = [
    pool,
    await api.operator.post(`/ip-pools/${pool.body.id}/ranges`, { cidr }),
    await api.operator.post(`/ip-pools/${pool.body.id}/allocations`, {
      organisation_id: id,
      count: addresses,
    }),
  ];
  const refused = made.filter(({ status }) => status !== 201);
  if (refused.length > 0) throw new Error(`the pool was not made: ${tally(refused)}`);
  return { organisation: id, owner, region: slug, agent: new TestAgent(agent) };
}

/**
 * More callers reserve an address than are allocated to the organisation: each address is reserved once, and
 * the others are refused.
 */
export async function publicIpRace(
  world: RaceWorld,
  version: 4 | 6,
  places: number,
  extra: number,
): Promise<void> {
  const { owner, region } = await newPlace(world, version, places);
  const what = `public IPv${version} addresses`;
  const answers = await world.race(
    what,
    owner,
    places + extra,
    /^(201|409 no_public_ip_available)$/,
    (caller) => caller.post("/public-ips", { region, version }),
  );
  world.expectAccepted(what, answers, places, region);
  for (const { status, body } of answers)
    if (status === 201) world.give(`public address of ${region}`, String(body.address));
}

type Scene = Place & { readonly ip: string; readonly servers: readonly string[] };

/** Running servers and a free address. */
async function newScene(world: RaceWorld, place: Place, servers: number): Promise<Scene> {
  const made: string[] = [];
  for (let index = 0; index < servers; index += 1) {
    const answer = await place.owner.post("/servers", {
      name: world.nextName(),
      region: place.region,
      image: "debian-13",
      package: "s",
    });
    if (answer.status !== 202) throw new Error(`no server: ${answerText(answer)}`);
    made.push(answer.body.server.id);
  }
  await place.agent.work();
  const taken = await place.owner.post("/public-ips", { region: place.region });
  if (taken.status !== 201) throw new Error(`no address: ${answerText(taken)}`);
  return { ...place, ip: taken.body.id, servers: made };
}

/** Two concurrent requests at two replicas, each with one of the allowed answers. */
async function duel(
  world: RaceWorld,
  what: string,
  allowed: RegExp,
  asks: readonly (() => Promise<Answer>)[],
): Promise<string> {
  const order = asks.map(async (ask) => answerText(await ask()));
  const outcome = (await Promise.all(order)).join(" and ");
  world.requests += asks.length;
  world.allocations += 1;
  if (!allowed.test(outcome)) world.violations.push(`${what}: answered ${outcome}`);
  return outcome;
}

/** What the address must be when all jobs have ended: on one of these servers, or on none. */
async function settled(world: RaceWorld, what: string, scene: Scene, at: RegExp): Promise<void> {
  await scene.agent.work();
  const { status, body } = await scene.owner.get(`/public-ips/${scene.ip}`);
  const is = status === 404 ? "released" : `${body.status} ${scene.servers.indexOf(body.attached_to?.id)}`;
  if (!at.test(is)) world.violations.push(`${what}: in the end the address is ${is}, and not ${at}`);
}

/**
 * The same address for two servers, for a server that is deleted, and while it is released: again and again.
 */
export async function attachRaces(world: RaceWorld, trials: number): Promise<void> {
  const place = await newPlace(world, 4, 4 * trials + 4);
  const { owner } = place;
  const second = owner.at(world.secondApp);
  for (let trial = 0; trial < trials; trial += 1) {
    const one = await newScene(world, place, 2);
    const [left = "", right = ""] = one.servers;
    const attach = (caller: ApiCaller, ip: string, server: string, more: object = {}) =>
      caller.post(`/public-ips/${ip}/attach`, { server_id: server, ...more });
    const first = await duel(
      world,
      "an address attached to two servers",
      /^(202 and 409 already_attached|409 already_attached and 202)$/,
      [() => attach(owner, one.ip, left), () => attach(second, one.ip, right)],
    );
    await settled(
      world,
      "an address attached to two servers",
      one,
      first.startsWith("202") ? /^attached 0$/ : /^attached 1$/,
    );

    // For a server that is deleted: the address is not lost with it, in whichever order.
    const gone = await newScene(world, place, 1);
    const [leaving = ""] = gone.servers;
    await duel(
      world,
      "an address attached to a server that is deleted",
      /^(202|409 (resource_deleting|invalid_state)) and 202$/,
      [() => attach(owner, gone.ip, leaving), () => second.delete(`/servers/${leaving}`)],
    );
    await place.agent.work();
    await purge(world, place, leaving);
    await settled(world, "an address attached to a server that is deleted", gone, /^free -1$/);

    // Moved away from a server whose removal buffer ends at this instant.
    const moved = await newScene(world, place, 2);
    const [old = "", next = ""] = moved.servers;
    await attach(owner, moved.ip, old);
    await place.agent.work();
    await owner.delete(`/servers/${old}`);
    await place.agent.work();
    const [outcome] = await Promise.all([
      duel(
        world,
        "an address moved off a server that is purged",
        /^(202|409 (resource_deleting|invalid_state))$/,
        [() => attach(second, moved.ip, next, { force: true })],
      ),
      endBuffer(world, place, old),
    ]);
    await place.agent.work();
    await purge(world, place, old);
    await settled(
      world,
      "an address moved off a server that is purged",
      moved,
      outcome === "202" ? /^attached 1$/ : /^free -1$/,
    );

    // Released while it is attached: one of the two.
    const back = await newScene(world, place, 1);
    const [server = ""] = back.servers;
    const release = await duel(
      world,
      "an address given back while it is attached",
      /^(202 and 409 in_use|404 not_found and 204)$/,
      [() => attach(owner, back.ip, server), () => second.delete(`/public-ips/${back.ip}`)],
    );
    await settled(
      world,
      "an address given back while it is attached",
      back,
      release.startsWith("202") ? /^attached 0$/ : /^released$/,
    );
  }
}

async function endBuffer(world: RaceWorld, { organisation }: Place, server: string): Promise<void> {
  await world.servers.passBuffer(server);
  await expireRemovalBuffer(world.servers.world.replica.deps, organisation, server);
}

/** Ends the buffer and lets the agent destroy the server, whatever other job comes first. */
async function purge(world: RaceWorld, place: Place, server: string): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    const { status } = await place.owner.get(`/servers/${server}`);
    if (status === 404) return;
    await endBuffer(world, place, server);
    await place.agent.work();
  }
  world.violations.push(`${server} cannot be purged`);
}
