import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import fc from "fast-check";
import { applyCancelJob, applyRetry, expectCancelJob, expectRetry } from "../reference-model/job-requests.ts";
import { allSubnets, type ModelState } from "../reference-model/model-state.ts";
import { applyTake, takeableAddress } from "../reference-model/public-ips.ts";
import {
  applyCancelDeletion,
  applyCreate,
  applyDelete,
  applyExpiry,
  applyPurge,
  expectAction,
  expectCancelDeletion,
  expectCreate,
  type Place,
  placeFor,
} from "../reference-model/server-requests.ts";
import type { ModelIp, ModelNetwork, ModelServer, ModelSubnet, Side } from "../reference-model/types.ts";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import { compareQuotas, compareServer, compareUnnamed } from "./compare.ts";
import { ask, type Real, same } from "./real-world.ts";
import { onJob, onServer, pick } from "./targets.ts";

type ServerRequest = {
  readonly side: Side;
  readonly name: number;
  readonly subnet: Ref | null;
  readonly key: Ref | null;
  readonly ip: Ref | null;
  readonly slug: "s" | "m";
  readonly starts: boolean;
};

/**
 * @param most the highest number in a name: with few of them names are often in use
 * @param withIps some are created with public addresses
 */
export function createServers(most = 4, withIps = false): fc.Arbitrary<Command> {
  return fc
    .record({
      side: sides,
      name: fc.nat({ max: most }),
      subnet: fc.option(refs, { freq: 3 }),
      key: fc.option(refs, { freq: 2 }),
      ip: withIps ? fc.option(refs, { freq: 1 }) : fc.constant(null),
      slug: fc.constantFrom("s", "s", "m"),
      starts: fc.constantFrom(true, true, true, false),
    })
    .map((wish) =>
      command(`createServer ${JSON.stringify(wish)}`, (state, real) => createServer(state, real, wish)),
    );
}

/** A server of each side in turn, with a name of its own, in any subnet. */
export function plainServers(count: number): Command[] {
  return Array.from({ length: count }, (_, index) => {
    const side: Side = index % 2 === 0 ? 0 : 1;
    return command(`createServer ${index} as ${side}`, (state, real) =>
      createServer(state, real, {
        side,
        name: index,
        subnet: null,
        key: null,
        ip: null,
        slug: "s",
        starts: true,
      }),
    );
  });
}

export function serverCommands(): fc.Arbitrary<Command>[] {
  return [createServers(), ...lifeCommands()];
}

/** Deletes, restores and ends of servers. */
export function lifeCommands(): fc.Arbitrary<Command>[] {
  const serverRef = { side: sides, ref: refs };
  return [
    fc.record(serverRef).map(({ side, ref }) =>
      onServer("deleteServer", side, ref, async (state, real, server) => {
        const expected = expectAction("delete", server, side);
        const body = await ask(real, side, "DELETE", `/servers/${server.id}`, expected);
        if (expected.status === 202) applyDelete(state, server).id = body.job.id;
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) =>
      onServer("cancelServerDeletion", side, ref, async (state, real, server) => {
        const expected = expectCancelDeletion(state, server, side);
        const body = await ask(real, side, "POST", `/servers/${server.id}/cancel-deletion`, expected);
        if (expected.status === 202) applyCancelDeletion(state, server).id = body.job.id;
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) => onServer("the removal buffer ends", side, ref, expire)),
    fc.record(serverRef).map(({ side, ref }) =>
      onJob("cancelJob", side, ref, async (state, real, job) => {
        const expected = expectCancelJob(job, side);
        await ask(real, side, "POST", `/jobs/${job.id}/cancel`, expected);
        if (expected.status !== 202) return;
        applyCancelJob(state, job);
        await compareUnnamed(real, state);
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) =>
      onJob("retryJob", side, ref, async (state, real, job) => {
        const expected = expectRetry(state, job, side);
        await ask(real, side, "POST", `/jobs/${job.id}/retry`, expected);
        if (expected.status === 202) applyRetry(state, job);
      }),
    ),
  ];
}

/** Destroyed at once, or out of the removal buffer before its time. */
export function purgeServers(): fc.Arbitrary<Command> {
  return fc.record({ side: sides, ref: refs }).map(({ side, ref }) =>
    onServer("purgeServer", side, ref, async (state, real, server) => {
      const expected = expectAction("purge", server, side);
      const body = await ask(real, side, "DELETE", `/servers/${server.id}?purge=true`, expected);
      if (expected.status === 202) applyPurge(state, server).id = body.job.id;
    }),
  );
}

async function createServer(state: ModelState, real: Real, wish: ServerRequest): Promise<void> {
  const { side, slug } = wish;
  const name = `server-${wish.name}`;
  const named = wish.subnet === null ? null : (pick(allSubnets(state), wish.subnet) ?? null);
  const key = wish.key === null ? null : (pick(state.keys, wish.key) ?? null);
  const publicIp = wish.ip === null ? null : wish.ip % 2 === 0 ? "auto" : (pick(state.ips, wish.ip) ?? null);
  const place = placeFor(state, side, named);
  const expected = expectCreate(state, side, { name, slug, key, publicIp }, place);
  const body = await ask(real, side, "POST", "/servers", expected, {
    name,
    region: real.region,
    image: "debian-13",
    package: slug,
    ...(wish.starts ? {} : { start: false }),
    ...(named === null ? {} : { subnet_id: named.id }),
    ...(key === null ? {} : { ssh_key_ids: [key.id] }),
    ...(publicIp === null ? {} : { public_ip: publicIp === "auto" ? "auto" : publicIp.id }),
  });
  if (expected.status !== 202) return;
  const job = applyCreate(state, {
    id: body.server.id,
    side,
    name,
    subnet: subnetOf(state, side, place, body.created),
    package: slug,
    image: "debian-13",
    keys: key === null ? [] : [key.id],
    starts: wish.starts,
  });
  job.id = body.job.id;
  const { server } = job;
  if (publicIp !== null) giveTo(state, server, publicIp, body.server.public_ips);
  await compareServer(real, state, server);
}

/** Its subnet: an existing one, or the one that was created with its network. */
function subnetOf(
  state: ModelState,
  side: Side,
  place: Place,
  created: { network: { id: string }; subnet: { id: string } } | undefined,
): ModelSubnet {
  same("a network was made along", created !== undefined, place.kind !== "subnet");
  if (place.kind === "subnet") return place.subnet;
  if (created === undefined) throw new Error("the server went nowhere");
  const network: ModelNetwork = {
    id: created.network.id,
    side,
    name: "default",
    subnets: [],
    isGone: false,
  };
  const subnet: ModelSubnet = {
    id: created.subnet.id,
    network,
    name: "app",
    tier: "app",
    slot: null,
    given: 0,
    capacity: 250,
    isGone: false,
  };
  network.subnets.push(subnet);
  state.networks.push(network);
  state.vlansLeft -= 1;
  return subnet;
}

function giveTo(
  state: ModelState,
  server: ModelServer,
  wanted: "auto" | ModelIp,
  shown: readonly { readonly id: string }[],
): void {
  const ip = wanted === "auto" ? additionalQuota(state, server.side, shown) : wanted;
  ip.wantedBy = server;
  ip.heldBy = server;
}

function additionalQuota(state: ModelState, side: Side, shown: readonly { readonly id: string }[]): ModelIp {
  const address = takeableAddress(state, side, 4);
  const id = shown[0]?.id;
  if (address === null || id === undefined)
    throw new Error("a server was made without the address it asked for");
  return applyTake(state, side, address, id);
}

/**
 * Moves the clock for one server and runs the worker's check, as it does by itself. An operator's lock
 * prevents the removal.
 */
async function expire(state: ModelState, real: Real, server: ModelServer): Promise<void> {
  const isMarked = server.status === "pending_deletion";
  if (isMarked)
    await real.owner.query(
      "update server set purge_at = clock_timestamp() - interval '1 second' where id = $1",
      [server.id],
    );
  const { deps } = real.world.replica;
  const expired = await expireRemovalBuffer(deps, real.organisations[server.side], server.id);
  const goes = isMarked && !server.isLocked;
  real.trace.push(`the removal buffer of ${server.id} ends: ${expired}`);
  same(`the removal buffer of ${server.name} ends`, expired, goes);
  if (!goes) return;
  real.since.hasChanged = true;
  applyExpiry(state, server);
}

/** What an organisation uses is compared at once, and not only at the end of a sequence. */
export function lookAtQuotas(): fc.Arbitrary<Command> {
  return sides.map((side) =>
    command(`listQuotas as ${side}`, (state, real) => compareQuotas(real, state, side)),
  );
}
