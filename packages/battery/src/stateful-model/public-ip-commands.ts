import fc from "fast-check";
import { absent } from "../reference-model/answers.ts";
import type { ModelState } from "../reference-model/model-state.ts";
import { applyReleaseIp } from "../reference-model/public-ip-endings.ts";
import {
  applyAttach,
  applyDetach,
  applyTake,
  expectAttach,
  expectDetach,
  expectRelease,
  expectTake,
  isAbsentIp,
  takeableAddress,
} from "../reference-model/public-ips.ts";
import type { ModelIp, Side } from "../reference-model/types.ts";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import { compareIp, compareServer } from "./compare.ts";
import { ask, type Real, same } from "./real-world.ts";
import { pick, preferOwn } from "./targets.ts";

const ipRef = { side: sides, ref: refs };

export function publicIpCommands(): fc.Arbitrary<Command>[] {
  const attach = fc
    .record({ ...ipRef, server: refs, force: fc.boolean() })
    .map(({ side, ref, server, force }) =>
      onIp(`attachPublicIp to ${server}${force ? " by force" : ""}`, side, ref, (state, real, ip) =>
        attachIp(state, real, side, ip, server, force),
      ),
    );
  return [
    takeIps(),
    attach,
    attach,
    fc
      .record(ipRef)
      .map(({ side, ref }) =>
        onIp("detachPublicIp", side, ref, (state, real, ip) => detachIp(state, real, side, ip)),
      ),
    fc.record(ipRef).map(({ side, ref }) =>
      onIp("deletePublicIp", side, ref, async (state, real, ip) => {
        const expected = expectRelease(ip, side);
        await ask(real, side, "DELETE", `/public-ips/${ip.id}`, expected);
        if (expected.status === 204) applyReleaseIp(state, ip);
      }),
    ),
    fc
      .record({ ...ipRef, protect: fc.constantFrom(true, false, false), along: fc.boolean() })
      .map(({ side, ref, protect, along }) =>
        onIp(`updatePublicIp ${protect} ${along}`, side, ref, async (_, real, ip) => {
          const expected = isAbsentIp(ip, side) ? absent : { status: 200 };
          await ask(real, side, "PATCH", `/public-ips/${ip.id}`, expected, {
            protection: { delete: protect },
            delete_with_server: along,
          });
          if (expected.status !== 200) return;
          ip.isProtected = protect;
          ip.goesWithServer = along;
        }),
      ),
    fc.constant(null).map(() => command("quarantines end", endQuarantines)),
  ];
}

/** Each side takes so many of each version, as far as there are any. */
export function takeSome(count: number): Command[] {
  return ([0, 1] as const).flatMap((side) =>
    ([4, 6] as const).flatMap((version) =>
      Array.from({ length: count }, () =>
        command(`createPublicIp v${version} as ${side}`, (state, real) =>
          takeIp(state, real, side, version, null),
        ),
      ),
    ),
  );
}

/** Any address, or one of the existing ones: free, used, in quarantine or the other organisation's. */
export function takeIps(): fc.Arbitrary<Command> {
  return fc
    .record({ side: sides, version: fc.constantFrom(4, 4, 6), named: fc.option(refs, { freq: 2 }) })
    .map(({ side, version, named }) =>
      command(`createPublicIp v${version} ${named} as ${side}`, (state, real) =>
        takeIp(state, real, side, version as 4 | 6, named),
      ),
    );
}

async function takeIp(
  state: ModelState,
  real: Real,
  side: Side,
  version: 4 | 6,
  ref: Ref | null,
): Promise<void> {
  const named = ref === null ? null : (pick(state.settings.addresses, ref) ?? null);
  const expected = expectTake(state, side, version, named);
  const address = named ?? takeableAddress(state, side, version);
  const body = await ask(real, side, "POST", "/public-ips", expected, {
    region: real.region,
    ...(named === null ? { version } : { address: named.address }),
  });
  if (expected.status !== 201 || address === null) return;
  same("the address that was taken", body.address, address.address);
  await compareIp(real, applyTake(state, side, address, body.id));
}

function onIp(
  name: string,
  side: Side,
  ref: Ref,
  work: (state: ModelState, real: Real, ip: ModelIp) => Promise<void>,
): Command {
  return command(`${name} ${ref} as ${side}`, async (state, real) => {
    const there = state.ips.filter(({ isGone }) => !isGone);
    const ip = preferOwn(ref % 16 === 1 || there.length === 0 ? state.ips : there, side, ref);
    if (ip === undefined) return;
    await work(state, real, ip);
    await compareIp(real, ip);
  });
}

async function attachIp(
  state: ModelState,
  real: Real,
  side: Side,
  ip: ModelIp,
  ref: Ref,
  force: boolean,
): Promise<void> {
  const target = preferOwn(state.servers, side, ref);
  if (target === undefined) return;
  const expected = expectAttach(state, ip, side, target, force);
  const body = await ask(real, side, "POST", `/public-ips/${ip.id}/attach`, expected, {
    server_id: target.id,
    ...(force ? { force: true } : {}),
  });
  if (expected.status !== 202) return;
  const { job, before } = applyAttach(state, ip, target);
  job.id = body.job.id;
  await compareServer(real, state, target);
  if (before !== null) await compareServer(real, state, before.server);
}

async function detachIp(state: ModelState, real: Real, side: Side, ip: ModelIp): Promise<void> {
  const expected = expectDetach(ip, side);
  const body = await ask(real, side, "POST", `/public-ips/${ip.id}/detach`, expected);
  if (expected.status !== 202) return;
  const job = applyDetach(state, ip);
  job.id = body.job.id;
  await compareServer(real, state, job.server);
}

/** Moves the clock: all quarantines end, in the order in which they began. */
async function endQuarantines(state: ModelState, real: Real): Promise<void> {
  const resting = state.settings.addresses.filter((each) => each.state === "resting");
  if (resting.length === 0) return;
  await real.owner.query(
    `update public_address set free_after = free_after - interval '10 years'
      where state = 'quarantined' and free_after > clock_timestamp() and host(address) = any($1)`,
    [resting.map(({ address }) => address)],
  );
  real.trace.push("quarantines end");
  for (const address of resting) address.state = "free";
}
