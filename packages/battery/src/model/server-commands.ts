import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import fc from "fast-check";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import { compareServer } from "./compare.ts";
import {
  applyCancelDeletion,
  applyCancelJob,
  applyDelete,
  applyEnd,
  applyExpiry,
  applyRelease,
  applyRetry,
  claimable,
  expectCancelDeletion,
  expectCancelJob,
  expectCreate,
  expectDelete,
  expectRetry,
  expectUpdate,
  placeFor,
} from "./model-servers.ts";
import {
  allJobs,
  allSubnets,
  type JobKind,
  type ModelJob,
  type ModelNetwork,
  type ModelServer,
  type ModelState,
  type Side,
} from "./model-state.ts";
import { ask, type Real, same } from "./real-world.ts";

/** @param most the highest number in a name: with few of them names are often taken */
export function createServers(most = 4): fc.Arbitrary<Command> {
  return fc
    .record({
      side: sides,
      name: fc.nat({ max: most }),
      subnet: fc.option(refs, { freq: 3 }),
      key: fc.option(refs, { freq: 2 }),
    })
    .map(({ side, name, subnet, key }) =>
      command(`createServer ${JSON.stringify({ side, name, subnet, key })}`, (state, real) =>
        createServer(state, real, side, `server-${name}`, subnet, key),
      ),
    );
}

export function serverCommands(): fc.Arbitrary<Command>[] {
  return [createServers(), ...lifeCommands()];
}

/** What can happen to servers that are there. */
export function lifeCommands(): fc.Arbitrary<Command>[] {
  const serverRef = { side: sides, ref: refs };
  return [
    fc.record({ ...serverRef, protect: fc.boolean() }).map(({ side, ref, protect }) =>
      onServer(`updateServer ${protect}`, side, ref, async (real, server) => {
        const expected = expectUpdate(server, side);
        await ask(real, side, "PATCH", `/servers/${server.id}`, expected, {
          protection: { delete: protect },
        });
        if (expected.status === 200) server.isProtected = protect;
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) =>
      onServer("deleteServer", side, ref, async (real, server) => {
        const expected = expectDelete(server, side);
        const body = await ask(real, side, "DELETE", `/servers/${server.id}`, expected);
        if (expected.status !== 202) return;
        applyDelete(server);
        addJob(server, body.job.id, "ServerStop", "queued");
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) =>
      onServer("cancelServerDeletion", side, ref, async (real, server) => {
        const expected = expectCancelDeletion(server, side);
        const body = await ask(real, side, "POST", `/servers/${server.id}/cancel-deletion`, expected);
        if (expected.status !== 202) return;
        const isOver = applyCancelDeletion(server);
        addJob(server, body.job.id, "ServerRestore", isOver ? "succeeded" : "queued");
      }),
    ),
    fc
      .record(serverRef)
      .map(({ side, ref }) =>
        onServer("the removal buffer ends", side, ref, (real, server) => expire(real, server)),
      ),
    fc.record(serverRef).map(({ side, ref }) =>
      onJob("cancelJob", side, ref, async (real, job) => {
        const expected = expectCancelJob(job, side);
        await ask(real, side, "POST", `/jobs/${job.id}/cancel`, expected);
        if (expected.status === 202) applyCancelJob(job);
      }),
    ),
    fc.record(serverRef).map(({ side, ref }) =>
      onJob("retryJob", side, ref, async (real, job) => {
        const expected = expectRetry(job, side);
        await ask(real, side, "POST", `/jobs/${job.id}/retry`, expected);
        if (expected.status === 202) applyRetry(job);
      }),
    ),
  ];
}

/** What the region's agent does, at any moment and with any outcome. */
export function agentCommands(): fc.Arbitrary<Command>[] {
  const outcome = fc.constantFrom("succeeded", "succeeded", "succeeded", "failed", "cancelled", "released");
  return [
    fc.constant(null).map(() => command("the agent claims", claim)),
    fc
      .record({ ref: refs, outcome, power: fc.constantFrom("on", "off") })
      .map(({ ref, outcome: how, power }) =>
        command(`the agent ends ${ref} as ${how} ${power}`, (state, real) =>
          end(state, real, ref, how as "succeeded", power as "on"),
        ),
      ),
  ];
}

async function createServer(
  state: ModelState,
  real: Real,
  side: Side,
  name: string,
  subnetRef: Ref | null,
  keyRef: Ref | null,
): Promise<void> {
  const subnets = allSubnets(state);
  const named = subnetRef === null ? null : (subnets[subnetRef % Math.max(1, subnets.length)] ?? null);
  const key = keyRef === null ? null : (state.keys[keyRef % Math.max(1, state.keys.length)] ?? null);
  const place = placeFor(state, side, named);
  const hasKey = key === null || (key.side === side && !key.isGone);
  const expected = hasKey ? expectCreate(state, side, name, place) : { status: 422 };
  const body = await ask(real, side, "POST", "/servers", expected, {
    name,
    region: real.region,
    image: "debian-13",
    package: "s",
    ...(named === null ? {} : { subnet_id: named.id }),
    ...(key === null ? {} : { ssh_key_ids: [key.id] }),
  });
  if (expected.status !== 202) return;
  state.vmidsLeft -= 1;
  let subnet = place.kind === "subnet" ? place.subnet : null;
  same("a network was made along", body.created !== undefined, subnet === null);
  if (subnet === null) {
    const network: ModelNetwork = {
      id: body.created.network.id,
      side,
      name: "default",
      subnets: [],
      isGone: false,
    };
    subnet = {
      id: body.created.subnet.id,
      network,
      name: "app",
      slot: null,
      given: 0,
      capacity: 250,
      isGone: false,
    };
    network.subnets.push(subnet);
    state.networks.push(network);
    state.vlansLeft -= 1;
  }
  subnet.given += 1;
  const server: ModelServer = {
    id: body.server.id,
    side,
    name,
    subnet,
    jobs: [],
    status: "creating",
    isProtected: false,
    wasCreated: false,
    power: "unknown",
    restoresTo: null,
  };
  state.servers.push(server);
  addJob(server, body.job.id, "ServerCreate", "queued");
  await compareServer(real, server);
}

/** Turns the clock for one server and lets the worker look, as it does by itself. */
async function expire(real: Real, server: ModelServer): Promise<void> {
  const isMarked = server.status === "pending_deletion";
  if (isMarked)
    await real.owner.query(
      "update server set purge_at = clock_timestamp() - interval '1 second' where id = $1",
      [server.id],
    );
  const { deps } = real.world.replica;
  const expired = await expireRemovalBuffer(deps, real.organisations[server.side], server.id);
  same(`the removal buffer of ${server.name} ends`, expired, isMarked);
  if (!isMarked) return;
  real.trace.push(`the removal buffer of ${server.id} ends`);
  applyExpiry(server);
  const { items } = await ask(real, server.side, "GET", `/jobs?resource=${server.id}&kind=ServerDestroy`, {
    status: 200,
  });
  addJob(server, items[0].id, "ServerDestroy", "queued");
}

async function claim(state: ModelState, real: Real): Promise<void> {
  const possible = claimable(state);
  const claimed = await real.agent.claim();
  real.counted.answers += 1;
  real.trace.push(`the agent claims ${claimed === null ? "nothing" : `${claimed.kind} ${claimed.id}`}`);
  if (claimed === null) {
    same(
      "jobs that the agent is not given",
      [],
      possible.map(({ id }) => id),
    );
    return;
  }
  const job = possible.find(({ id }) => id === claimed.id);
  if (job === undefined)
    throw new Error(`the agent was given ${claimed.kind} ${claimed.id}, which the model does not let wait`);
  same("the kind of the claimed job", claimed.kind, job.kind);
  job.status = "running";
  job.claims += 1;
  real.held.set(job.id, claimed);
  await compareServer(real, job.server);
}

async function end(
  state: ModelState,
  real: Real,
  ref: Ref,
  how: "succeeded" | "failed" | "cancelled" | "released",
  power: "on" | "off",
): Promise<void> {
  const ids = [...real.held.keys()];
  const id = ids[ref % Math.max(1, ids.length)];
  const job = allJobs(state).find((each) => each.id === id);
  const claimed = id === undefined ? undefined : real.held.get(id);
  if (job === undefined || claimed === undefined) return;
  real.held.delete(job.id);
  const seen = job.kind === "ServerStop" || job.kind === "ServerDestroy" ? "off" : power;
  const answer = await real.agent.report(claimed, {
    phase: "verify",
    outcome:
      how === "succeeded"
        ? { status: how, observed: { power_state: seen } }
        : how === "released"
          ? { status: how }
          : {
              status: how,
              error: { code: "template_missing", message: "It did not work", retryable: false },
            },
  });
  real.counted.answers += 1;
  real.trace.push(`the agent ends ${job.kind} ${job.id} as ${how} ${seen}: ${answer.status}`);
  same(`the report of ${job.kind}`, answer.status, 200);
  if (how === "released") applyRelease(job);
  else applyEnd(job, how, how === "succeeded" ? seen : null);
  await compareServer(real, job.server);
}

export function addJob(server: ModelServer, id: string, kind: JobKind, status: ModelJob["status"]): void {
  server.jobs.push({ id, kind, server, status, cancelRequested: false, claims: 0 });
}

/** On a server of any side, also one that is gone; afterwards its owner sees what the model says. */
export function onServer(
  name: string,
  side: Side,
  ref: Ref,
  work: (real: Real, server: ModelServer) => Promise<void>,
): Command {
  return command(`${name} ${ref} as ${side}`, async (state, real) => {
    const server = prefer(state.servers, side, ref);
    if (server === undefined) return;
    await work(real, server);
    await compareServer(real, server);
  });
}

function onJob(
  name: string,
  side: Side,
  ref: Ref,
  work: (real: Real, job: ModelJob) => Promise<void>,
): Command {
  return command(`${name} ${ref} as ${side}`, async (state, real) => {
    const server = prefer(state.servers, side, ref);
    // The newest ones are those with something left to decide.
    const job = server?.jobs.at(-1 - (Math.floor(ref / 16) % server.jobs.length));
    if (server === undefined || job === undefined) return;
    await work(real, job);
    await compareServer(real, server);
  });
}

/** Mostly one's own, sometimes another's: whoever it is, the model knows the answer. */
function prefer(servers: readonly ModelServer[], side: Side, ref: Ref): ModelServer | undefined {
  const own = servers.filter((server) => server.side === side);
  const from = ref % 8 === 0 || own.length === 0 ? servers : own;
  return from[ref % Math.max(1, from.length)];
}
