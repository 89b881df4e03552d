import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import fc from "fast-check";
import { absent, type Expected, refused } from "../reference-model/answers.ts";
import { allSubnets, liveNetworks, type ModelState } from "../reference-model/model-state.ts";
import { fullFor, QUOTAS } from "../reference-model/quotas.ts";
import type { ModelNetwork, QuotaName, Side } from "../reference-model/types.ts";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import { compareQuotas } from "./compare.ts";
import { ask, askOperator, type Real } from "./real-world.ts";
import { pick } from "./targets.ts";

/** What exists or is in use decides every answer. */
export function resourceCommands(): fc.Arbitrary<Command>[] {
  return [...networkCommands(), ...accessCommands()];
}

const named = fc.record({ side: sides, name: fc.nat({ max: 2 }) });

const on = (name: string, run: (state: ModelState, real: Real, side: Side, ref: Ref) => Promise<void>) =>
  fc
    .record({ side: sides, ref: refs })
    .map(({ side, ref }) =>
      command(`${name} ${ref} as ${side}`, (state, real) => run(state, real, side, ref)),
    );

export function networkCommands(): fc.Arbitrary<Command>[] {
  return [
    named.map(({ side, name }) =>
      command(`createNetwork ${name} as ${side}`, (state, real) => createNetwork(state, real, side, name)),
    ),
    on("deleteNetwork", deleteNetwork),
    fc
      .record({
        side: sides,
        ref: refs,
        name: fc.nat({ max: 2 }),
        slot: fc.nat({ max: 2 }),
        tier: fc.constantFrom("app", "app", "data"),
      })
      .map(({ side, ref, name, slot, tier }) =>
        command(`createSubnet ${name} ${slot} ${tier} in ${ref} as ${side}`, (state, real) =>
          createSubnet(state, real, side, ref, name, slot, tier as "app"),
        ),
      ),
    on("deleteSubnet", deleteSubnet),
  ];
}

/** For each side a network with one subnet of five addresses. */
export function smallSubnet(tier: "app" | "data" = "app"): Command[] {
  return ([0, 1] as const).flatMap((side) => [
    command(`createNetwork 0 as ${side}`, (state, real) => createNetwork(state, real, side, 0)),
    command(`createSubnet 0 0 ${tier} in ${side} as ${side}`, (state, real) =>
      createSubnet(state, real, side, side, 0, 0, tier),
    ),
  ]);
}

/** Few names and few key pairs, so that both are often taken; and lines that are no public key. */
export function keyCommands(): fc.Arbitrary<Command>[] {
  return [
    fc
      .record({ side: sides, name: fc.nat({ max: 2 }), pair: fc.nat({ max: PAIRS.length - 1 }) })
      .map(({ side, name, pair }) =>
        command(`createSshKey ${name} of pair ${pair} as ${side}`, (state, real) =>
          createKey(state, real, side, name, pair),
        ),
      ),
    fc.record({ side: sides, which: fc.nat({ max: NO_KEYS.length - 1 }) }).map(({ side, which }) =>
      command(`createSshKey of what is none, ${which}, as ${side}`, async (_state, real) => {
        await ask(
          real,
          side,
          "POST",
          "/ssh-keys",
          { status: 422 },
          {
            name: "no-key",
            public_key: NO_KEYS[which] ?? "",
          },
        );
      }),
    ),
    fc
      .record({ side: sides, ref: refs, name: fc.nat({ max: 2 }) })
      .map(({ side, ref, name }) =>
        command(`updateSshKey ${ref} to ${name} as ${side}`, (state, real) =>
          renameKey(state, real, side, ref, name),
        ),
      ),
    on("deleteSshKey", deleteKey),
  ];
}

/** Limits near what there is, none, and again none. */
export function setQuotas(): fc.Arbitrary<Command> {
  return fc
    .record({
      side: sides,
      name: fc.constantFrom(...QUOTAS, "vcpu" as const, "disk_gb" as const, "servers" as const),
      limit: fc.option(fc.nat({ max: 6 }), { freq: 3 }),
    })
    .map(({ side, name, limit }) =>
      command(`setQuotas ${name} ${limit} for ${side}`, (state, real) =>
        limitTo(state, real, side, name, limit),
      ),
    );
}

/** About one server's worth. */
const steps: { readonly [name in QuotaName]?: number } = { memory_mb: 2048, disk_gb: 40 };

async function limitTo(
  state: ModelState,
  real: Real,
  side: Side,
  name: QuotaName,
  times: number | null,
): Promise<void> {
  const limit = times === null ? null : times * (steps[name] ?? 1);
  const path = `/organisations/${real.organisations[side]}/quotas`;
  await askOperator(real, side, "PUT", path, { status: 200 }, { limits: { [name]: limit } });
  if (limit === null) state.limits[side].delete(name);
  else state.limits[side].set(name, limit);
  await compareQuotas(real, state, side);
}

/** Key pairs of this process: the fingerprint of each is taken once in an organisation. */
const PAIRS = [ed25519Line("one"), ed25519Line("two"), ed25519Line("three")];
const NO_KEYS = [
  "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----",
  "ssh-dss AAAAB3NzaC1kc3MAAACBAJ one@example.org",
  `command="/bin/sh" ${ed25519Line("with options")}`,
  ed25519Line("short").replace(/^(ssh-ed25519 \S{40})\S+/, "$1"),
];

/** Keys and members. */
export function accessCommands(): fc.Arbitrary<Command>[] {
  return [
    ...keyCommands(),
    fc
      .record({ side: sides, person: fc.nat({ max: 2 }), role: fc.constantFrom("owner", "viewer") })
      .map(({ side, person, role }) =>
        command(`addMember ${person} as ${role} in ${side}`, (state, real) =>
          addMember(state, real, side, person, role),
        ),
      ),
    fc
      .record({ side: sides, ref: refs, role: fc.constantFrom("owner", "viewer", null) })
      .map(({ side, ref, role }) =>
        command(
          `${role === null ? "removeMember" : `updateMember to ${role}`} ${ref} as ${side}`,
          (state, real) => changeMember(state, real, side, ref, role),
        ),
      ),
  ];
}

async function createNetwork(state: ModelState, real: Real, side: Side, number: number): Promise<void> {
  const name = `network-${number}`;
  const isTaken = liveNetworks(state, side).some((network) => network.name === name);
  const expected: Expected =
    fullFor(state, side, { networks: 1 }) ?? (isTaken ? refused("name_taken") : { status: 201 });
  const body = await ask(real, side, "POST", "/networks", expected, {
    name,
    region: real.region,
    cidr: `172.16.${number}.0/24`,
  });
  if (expected.status === 201)
    state.networks.push({ id: body.network.id, side, name, subnets: [], isGone: false });
}

async function deleteNetwork(state: ModelState, real: Real, side: Side, ref: Ref): Promise<void> {
  const network = pick(state.networks, ref);
  if (network === undefined) return;
  const isEmpty = network.subnets.every((subnet) => subnet.isGone);
  const expected = isAbsent(network, side) ? absent : isEmpty ? { status: 204 } : refused("in_use");
  await ask(real, side, "DELETE", `/networks/${network.id}`, expected);
  if (expected.status === 204) network.isGone = true;
}

async function createSubnet(
  state: ModelState,
  real: Real,
  side: Side,
  ref: Ref,
  number: number,
  slot: number,
  tier: "app" | "data",
): Promise<void> {
  // A default network has a range that the API has chosen.
  const networks = state.networks.filter((network) => network.name !== "default");
  const network = pick(networks, ref);
  if (network === undefined) return;
  const name = `subnet-${number}`;
  const expected = expectSubnet(state, side, network, name, slot);
  const body = await ask(real, side, "POST", `/networks/${network.id}/subnets`, expected, {
    name,
    tier,
    cidr: `172.16.${network.name.replace("network-", "")}.${slot * 8}/29`,
  });
  if (expected.status !== 201) return;
  network.subnets.push({
    id: body.subnet.id,
    network,
    name,
    tier,
    slot,
    given: 0,
    capacity: 5,
    isGone: false,
  });
  state.vlansLeft -= 1;
}

function expectSubnet(
  state: ModelState,
  side: Side,
  network: ModelNetwork,
  name: string,
  slot: number,
): Expected {
  if (isAbsent(network, side)) return absent;
  const full = fullFor(state, side, { subnets: 1 });
  if (full !== null) return full;
  const siblings = network.subnets.filter((subnet) => !subnet.isGone);
  if (siblings.some((subnet) => subnet.name === name)) return refused("name_taken");
  if (siblings.some((subnet) => subnet.slot === slot)) return refused("cidr_overlap");
  return state.vlansLeft === 0 ? refused("vlan_exhausted") : { status: 201 };
}

async function deleteSubnet(state: ModelState, real: Real, side: Side, ref: Ref): Promise<void> {
  const subnet = pick(allSubnets(state), ref);
  if (subnet === undefined) return;
  const isUsed = state.servers.some((server) => server.subnet === subnet && server.status !== "deleted");
  const isThere = !isAbsent(subnet.network, side) && !subnet.isGone;
  const expected = !isThere ? absent : isUsed ? refused("in_use") : { status: 204 };
  await ask(real, side, "DELETE", `/networks/${subnet.network.id}/subnets/${subnet.id}`, expected);
  if (expected.status !== 204) return;
  subnet.isGone = true;
  state.vlansLeft += 1;
}

async function createKey(
  state: ModelState,
  real: Real,
  side: Side,
  number: number,
  pair: number,
): Promise<void> {
  const name = `key-${number}`;
  const own = state.keys.filter((key) => key.side === side && !key.isGone);
  const isTaken = own.some((key) => key.name === name);
  const isThere = own.some((key) => key.pair === pair);
  const expected =
    fullFor(state, side, { ssh_keys: 1 }) ??
    (isTaken ? refused("name_taken") : isThere ? refused("duplicate_key") : { status: 201 });
  const body = await ask(real, side, "POST", "/ssh-keys", expected, { name, public_key: PAIRS[pair] ?? "" });
  if (expected.status === 201) state.keys.push({ id: body.id, side, pair, name, isGone: false });
}

async function renameKey(state: ModelState, real: Real, side: Side, ref: Ref, number: number): Promise<void> {
  const key = pick(state.keys, ref);
  if (key === undefined) return;
  const name = `key-${number}`;
  const isTaken = state.keys.some(
    (each) => each !== key && each.side === side && each.name === name && !each.isGone,
  );
  const expected = isAbsent(key, side) ? absent : isTaken ? refused("name_taken") : { status: 200 };
  await ask(real, side, "PATCH", `/ssh-keys/${key.id}`, expected, { name });
  if (expected.status === 200) key.name = name;
}

async function deleteKey(state: ModelState, real: Real, side: Side, ref: Ref): Promise<void> {
  const key = pick(state.keys, ref);
  if (key === undefined) return;
  const expected = isAbsent(key, side) ? absent : { status: 204 };
  await ask(real, side, "DELETE", `/ssh-keys/${key.id}`, expected);
  if (expected.status === 204) key.isGone = true;
}

async function addMember(
  state: ModelState,
  real: Real,
  side: Side,
  person: number,
  role: string,
): Promise<void> {
  // The same people in all runs: a person may belong to many organisations.
  const email = `person-${person}@example.org`;
  const isThere = state.members.some((each) => each.side === side && each.email === email && !each.isGone);
  const added = { status: 201 };
  const expected = isThere ? refused("already_member") : (fullFor(state, side, { members: 1 }) ?? added);
  const { secret } = await ask(real, side, "POST", "/invitations", expected, { email, role });
  if (expected !== added) return;
  const who = { secret, name: "Somebody", password: "the phrase of all these people" };
  const body = await ask(real, side, "POST", "/auth/invitation/accept", { status: 200 }, who);
  state.members.push({ id: body.member.id, side, email, role, isGone: false });
}

async function changeMember(
  state: ModelState,
  real: Real,
  side: Side,
  ref: Ref,
  role: string | null,
): Promise<void> {
  const member = pick(state.members, ref);
  if (member === undefined) return;
  const owners = state.members.filter((each) => each.side === side && !each.isGone && each.role === "owner");
  const isLast = member.role === "owner" && role !== "owner" && owners.length === 1;
  const success = { status: role === null ? 204 : 200 };
  const expected = isAbsent(member, side) ? absent : isLast ? refused("last_owner") : success;
  const path = `/members/${member.id}`;
  if (role === null) await ask(real, side, "DELETE", path, expected);
  else await ask(real, side, "PATCH", path, expected, { role });
  if (expected !== success) return;
  if (role === null) member.isGone = true;
  else member.role = role;
}

/** Another organisation's is as absent as what was removed. */
function isAbsent(each: { readonly side: Side; readonly isGone: boolean }, side: Side): boolean {
  return each.side !== side || each.isGone;
}
