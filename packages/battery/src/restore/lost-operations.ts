import type { ObservedVm } from "@kule/testing/world-check/region-invariants";
import type { Json, RestoredWorld } from "./restored-world.ts";

/** What the database forgets, and what it is expected to find out again. */
export type Lost = {
  readonly moment: string;
  /** Operations after the moment. */
  readonly operations: number;
  /** By the names of their servers. */
  readonly servers: ReadonlyMap<string, { readonly id: string; readonly vmid: number }>;
  /** Created after the moment: by name, with their customer. */
  readonly made: ReadonlyMap<string, { readonly customer: string; readonly vmid: number }>;
  readonly vlan: number;
  /** The ranges of the lost network and its subnet: its owner knows them. */
  readonly ranges: { readonly network: string; readonly subnet: string };
  readonly vms: readonly ObservedVm[];
  readonly destroys: ReadonlyMap<number, number>;
  /** The job that waited at the moment and was claimed after it. */
  readonly pending: { readonly id: string; readonly epoch: number };
};

/** Servers that there are at the moment, each for what happens to it afterwards. */
const standing = [
  "kept",
  "gone",
  "bigger",
  "renamed",
  "attached",
  "buffered",
  "rebuilt",
  "switched-off",
] as const;

/** Builds the world, backs it up, and does everything that is lost. */
export async function loseOperations(world: RestoredWorld): Promise<Lost> {
  const acme = world.of("acme");
  const beta = world.of("beta");
  const servers = new Map<string, { id: string; vmid: number }>();
  const note = async (name: string, server: Json) => {
    const [row] = await world.rows("select vmid from region_vmid where server_id = $1", [server.id]);
    servers.set(name, { id: server.id, vmid: row.vmid });
  };
  // The first creates the default network, which the others would wait for.
  for (const name of standing.slice(0, 1)) await note(name, await world.create("acme", name));
  await Promise.all([
    ...standing.slice(1).map(async (name) => note(name, await world.create("acme", name))),
    world.create("beta", "theirs").then((server) => note("theirs", server)),
  ]);
  const idOf = (name: string) => servers.get(name)?.id ?? "";
  await acme.done("DELETE", `/servers/${idOf("buffered")}`);
  await world.postgres.runPart("Make a base backup");
  await note("after-base", await world.create("acme", "after-base"));
  const token = await acme.must("POST", "/tokens", {
    name: "leaked",
    role: "viewer",
    reason: "a backup is tried",
  });

  // These wait at the moment, and are done after it.
  await world.endAgent();
  const rebuild = await acme.must("POST", `/servers/${idOf("rebuilt")}/rebuild`, {
    image: "ubuntu-24.04",
    confirm_name: "rebuilt",
  });
  const pending = await acme.must("POST", "/servers", {
    name: "pending",
    region: "lab1",
    image: "ubuntu-24.04",
    package: "s",
  });
  await note("pending", pending.server);
  const moment = await world.postgres.moment();
  world.startAgent();
  await Promise.all([acme.untilDone(rebuild.job.id), acme.untilDone(pending.job.id)]);
  const [claimed] = await world.rows("select epoch from job where id = $1", [pending.job.id]);

  const made = new Map<string, { customer: string; vmid: number }>();
  const create = async (customer: string, name: string, more: object = {}) => {
    const server = await world.create(customer, name, more);
    await note(name, server);
    made.set(name, { customer, vmid: servers.get(name)?.vmid ?? 0 });
  };
  await create("acme", "lost-plain");
  await create("acme", "lost-public", { public_ip: "auto" });
  await create("beta", "lost-theirs");
  const { network } = await acme.must("POST", "/networks", { name: "lost", region: "lab1" });
  const { subnet } = await acme.must("POST", `/networks/${network.id}/subnets`, { name: "app", tier: "app" });
  await create("acme", "lost-elsewhere", { subnet_id: subnet.id });
  const [{ vlan }] = await world.rows("select vlan from region_vlan where subnet_id = $1", [subnet.id]);

  await acme.done("DELETE", `/servers/${idOf("gone")}?purge=true`);
  // What the rebuild of before the moment made is replaced once more: done again, that one would destroy this one's disk.
  await acme.done("POST", `/servers/${idOf("rebuilt")}/rebuild`, {
    image: "ubuntu-24.04",
    confirm_name: "rebuilt",
  });
  await acme.done("POST", `/servers/${idOf("bigger")}/resize`, { package: "m", allow_restart: true });
  const renamed = await acme.must("PATCH", `/servers/${idOf("renamed")}`, { name: "renamed-later" });
  if (renamed.job !== undefined) await acme.untilDone(renamed.job.id);
  const ip = await acme.must("POST", "/public-ips", { region: "lab1" });
  await acme.done("POST", `/public-ips/${ip.id}/attach`, { server_id: idOf("attached") });
  await acme.done("POST", `/servers/${idOf("buffered")}/cancel-deletion`);
  await acme.done("POST", `/servers/${idOf("switched-off")}/power`, { action: "stop" });
  await acme.must("DELETE", `/tokens/${token.token.id}`);
  await beta.must("POST", "/networks", { name: "later", region: "lab1" });
  return {
    moment,
    operations: 18,
    servers,
    made,
    vlan,
    ranges: { network: network.cidr, subnet: subnet.cidr },
    vms: await world.vms(),
    destroys: world.destroys(),
    pending: { id: pending.job.id, epoch: claimed.epoch },
  };
}
