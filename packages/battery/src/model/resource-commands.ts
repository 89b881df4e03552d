import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import fc from "fast-check";
import { type Command, command, type Ref, refs, sides } from "./command.ts";
import {
  absent,
  allSubnets,
  type Expected,
  liveNetworks,
  type ModelNetwork,
  type ModelState,
  refused,
  type Side,
} from "./model-state.ts";
import { ask, type Real } from "./real-world.ts";

/** What is there, in use or taken decides every answer. */
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
      .record({ side: sides, ref: refs, name: fc.nat({ max: 2 }), slot: fc.nat({ max: 2 }) })
      .map(({ side, ref, name, slot }) =>
        command(`createSubnet ${name} ${slot} in ${ref} as ${side}`, (state, real) =>
          createSubnet(state, real, side, ref, name, slot),
        ),
      ),
    on("deleteSubnet", deleteSubnet),
  ];
}

/** For each side a network with one subnet of five addresses. */
export function smallSubnet(): Command[] {
  return ([0, 1] as const).flatMap((side) => [
    command(`createNetwork 0 as ${side}`, (state, real) => createNetwork(state, real, side, 0)),
    command(`createSubnet 0 0 in ${side} as ${side}`, (state, real) =>
      createSubnet(state, real, side, side, 0, 0),
    ),
  ]);
}

/** Keys and members. */
export function accessCommands(): fc.Arbitrary<Command>[] {
  return [
    named.map(({ side, name }) =>
      command(`createSshKey ${name} as ${side}`, (state, real) => createKey(state, real, side, name)),
    ),
    on("deleteSshKey", deleteKey),
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
  const expected: Expected = isTaken ? refused("name_taken") : { status: 201 };
  const body = await ask(real, side, "POST", "/networks", expected, {
    name,
    region: real.region,
    cidr: `172.16.${number}.0/24`,
  });
  if (!isTaken) state.networks.push({ id: body.network.id, side, name, subnets: [], isGone: false });
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
): Promise<void> {
  // A default network has a range that the API has chosen.
  const networks = state.networks.filter((network) => network.name !== "default");
  const network = pick(networks, ref);
  if (network === undefined) return;
  const name = `subnet-${number}`;
  const expected = expectSubnet(state, side, network, name, slot);
  const body = await ask(real, side, "POST", `/networks/${network.id}/subnets`, expected, {
    name,
    tier: "app",
    cidr: `172.16.${network.name.replace("network-", "")}.${slot * 8}/29`,
  });
  if (expected.status !== 201) return;
  network.subnets.push({ id: body.subnet.id, network, name, slot, given: 0, capacity: 5, isGone: false });
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

async function createKey(state: ModelState, real: Real, side: Side, number: number): Promise<void> {
  const name = `key-${number}`;
  const isTaken = state.keys.some((key) => key.side === side && key.name === name && !key.isGone);
  const body = await ask(real, side, "POST", "/ssh-keys", isTaken ? refused("name_taken") : { status: 201 }, {
    name,
    public_key: ed25519Line(),
  });
  if (!isTaken) state.keys.push({ id: body.id, side, name, isGone: false });
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
  const body = await ask(
    real,
    side,
    "POST",
    "/members",
    isThere ? refused("already_member") : { status: 201 },
    {
      email,
      name: "Somebody",
      role,
    },
  );
  if (!isThere) state.members.push({ id: body.member.id, side, email, role, isGone: false });
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

function pick<Item>(list: readonly Item[], ref: Ref): Item | undefined {
  return list[ref % Math.max(1, list.length)];
}
