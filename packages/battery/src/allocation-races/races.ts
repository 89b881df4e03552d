import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { RaceWorld } from "./race-world.ts";

type Place = { readonly owner: ApiCaller; readonly region: string };

/** A network with this block as its one subnet. */
async function subnetOf(world: RaceWorld, { owner, region }: Place, cidr: string): Promise<string> {
  const network = await owner.post("/networks", { name: world.nextName(), region, cidr: "10.0.0.0/8" });
  const subnet = await owner.post(`/networks/${network.body.network.id}/subnets`, {
    name: "app",
    tier: "app",
    cidr,
  });
  return subnet.body.subnet.id as string;
}

async function newPlace(world: RaceWorld, ranges: { vmids?: number; vlans?: number } = {}): Promise<Place> {
  const { world: api } = world.servers;
  const { owner } = await api.addOrganisation(world.nextName());
  const { slug } = await api.addRegion(world.nextName(), {
    vmid_range: { first: 1_000, last: 1_000 + (ranges.vmids ?? 5_000) - 1 },
    vlan_range: { first: 100, last: 100 + (ranges.vlans ?? 300) - 1 },
  });
  return { owner, region: slug };
}

const server = (region: string, name: string, more: object = {}) => ({
  name,
  region,
  image: "debian-13",
  package: "s",
  ...more,
});

/** More callers request an address of the subnet than it has. */
export async function addressRace(
  world: RaceWorld,
  cidr: string,
  places: number,
  extra: number,
): Promise<void> {
  const place = await newPlace(world);
  const subnetId = await subnetOf(world, place, cidr);
  const what = `addresses of ${cidr}`;
  const answers = await world.race(
    what,
    place.owner,
    places + extra,
    /^(202|409 subnet_exhausted)$/,
    (owner) => owner.post("/servers", server(place.region, world.nextName(), { subnet_id: subnetId })),
  );
  world.expectAccepted(what, answers, places, subnetId);
  world.giveServers(place.region, answers);
}

/** Everybody names the same few addresses. */
export async function wantedAddressRace(world: RaceWorld, wanted: number, each: number): Promise<void> {
  const place = await newPlace(world);
  const subnetId = await subnetOf(world, place, "10.9.0.0/24");
  const what = "addresses asked for by name";
  const answers = await world.race(
    what,
    place.owner,
    wanted * each,
    /^(202|409 address_in_use)$/,
    (owner, index) =>
      owner.post(
        "/servers",
        server(place.region, world.nextName(), {
          subnet_id: subnetId,
          private_ip: `10.9.0.${10 + Math.floor(index / each)}`,
        }),
      ),
  );
  const accepted = answers.filter(({ status }) => status === 202).length;
  if (accepted !== wanted) world.violations.push(`${what}: ${accepted} were accepted and not ${wanted}`);
  world.giveServers(place.region, answers);
}

/**
 * Servers and reservations compete for the addresses of one subnet, automatic and named; then several servers
 * compete for each reserved one.
 */
export async function reservationRace(
  world: RaceWorld,
  cidr: string,
  places: number,
  extra: number,
): Promise<void> {
  const place = await newPlace(world);
  const subnetId = await subnetOf(world, place, cidr);
  const what = `addresses of ${cidr} for servers and reservations`;
  const [network] = (await place.owner.get("/networks")).body.items;
  const path = `/networks/${network.id}/subnets/${subnetId}`;
  const first = cidr.replace(/0\/\d+$/, "");
  const answers = await world.race(
    what,
    place.owner,
    places + extra,
    /^(201|202|409 subnet_exhausted|409 address_in_use)$/,
    (owner, index) => {
      const name = world.nextName();
      if (index % 3 === 0) return owner.post("/servers", server(place.region, name, { subnet_id: subnetId }));
      // An address that the others are about to get.
      const address = index % 3 === 1 ? {} : { address: `${first}${2 + Math.floor(index / 3)}` };
      return owner.post(`${path}/reservations`, { name, ...address });
    },
  );
  world.giveServers(place.region, answers);
  // A request that names none gets any, and is never refused because an address is in use.
  const misled = answers.filter(({ body }, index) => index % 3 !== 2 && body.code === "address_in_use");
  if (misled.length > 0) world.violations.push(`${what}: ${misled.length} named none and were refused one`);
  const kept = answers.flatMap(({ status, body }) => (status === 201 ? [String(body.address)] : []));
  for (const address of kept) world.give(`address of ${subnetId}`, address);
  const given = answers.filter(({ status }) => status < 300).length;
  const { usage } = (await place.owner.get(path)).body;
  if (usage.addresses_free !== places - given)
    world.violations.push(`${what}: ${given} of ${places} were given and ${usage.addresses_free} are free`);
  const each = 4;
  const claims = await world.race(
    `reserved ${what}`,
    place.owner,
    kept.length * each,
    /^(202|409 address_in_use)$/,
    (owner, index) =>
      owner.post(
        "/servers",
        server(place.region, world.nextName(), {
          subnet_id: subnetId,
          private_ip: kept[Math.floor(index / each)],
        }),
      ),
  );
  const accepted = claims.filter(({ status }) => status === 202).length;
  if (accepted !== kept.length)
    world.violations.push(`reserved ${what}: ${accepted} were accepted and not ${kept.length}`);
}

/** More callers need a VM number than the region has. */
export async function vmidRace(world: RaceWorld, vmids: number, extra: number): Promise<void> {
  const place = await newPlace(world, { vmids });
  const subnetId = await subnetOf(world, place, "10.1.0.0/16");
  const what = `${vmids} VM numbers`;
  const answers = await world.race(what, place.owner, vmids + extra, /^(202|409 vmid_exhausted)$/, (owner) =>
    owner.post("/servers", server(place.region, world.nextName(), { subnet_id: subnetId })),
  );
  world.expectAccepted(what, answers, vmids, place.region);
  world.giveServers(place.region, answers);
}

/** More subnets are wanted than the region has VLANs, each in a network of its own, so that only the VLANs are shared. */
export async function vlanRace(world: RaceWorld, vlans: number, extra: number): Promise<void> {
  const place = await newPlace(world, { vlans });
  const networks = await Promise.all(
    Array.from({ length: vlans + extra }, async () => {
      const made = await place.owner.post("/networks", { name: world.nextName(), region: place.region });
      return made.body.network.id as string;
    }),
  );
  const what = `${vlans} VLANs`;
  const answers = await world.race(
    what,
    place.owner,
    networks.length,
    /^(20[12]|409 vlan_exhausted)$/,
    (owner, index) => owner.post(`/networks/${networks[index]}/subnets`, { name: "app", tier: "app" }),
  );
  world.expectAccepted(what, answers, vlans, place.region);
  const { rows } = await world.servers.owner.query<{ subnet: string; vlans: number[] }>(
    `select u.id as subnet, array(select v.vlan from region_vlan v where v.subnet_id = u.id) as vlans
       from subnet u where u.region = $1`,
    [place.region],
  );
  for (const { subnet, vlans: held } of rows) {
    if (held.length !== 1) world.violations.push(`${what}: ${subnet} has ${held.length} VLANs and not one`);
    for (const vlan of held) world.give(`VLAN of ${place.region}`, String(vlan));
  }
}

/** Every client requests the same name, for each of some names. */
export async function nameRace(world: RaceWorld, names: number, each: number): Promise<void> {
  const place = await newPlace(world);
  const subnetId = await subnetOf(world, place, "10.2.0.0/16");
  const what = "server names";
  const wanted = Array.from({ length: names }, () => world.nextName());
  const answers = await world.race(
    what,
    place.owner,
    names * each,
    /^(202|409 name_taken)$/,
    (owner, index) =>
      owner.post(
        "/servers",
        server(place.region, String(wanted[Math.floor(index / each)]), { subnet_id: subnetId }),
      ),
  );
  const accepted = answers.filter(({ status }) => status === 202);
  if (accepted.length !== names)
    world.violations.push(`${what}: ${accepted.length} were accepted for ${names} names`);
  for (const { body } of accepted) world.give(`name in ${place.region}`, body.server.name);
  world.giveServers(place.region, answers);
}

/** The first servers of an organisation that has no network yet: they make one and share it. */
export async function firstServersRace(world: RaceWorld, count: number): Promise<void> {
  const place = await newPlace(world);
  const what = "first servers";
  const answers = await world.race(what, place.owner, count, /^202$/, (owner) =>
    owner.post("/servers", server(place.region, world.nextName())),
  );
  const networks = await place.owner.get("/networks");
  if (networks.body.items.length !== 1)
    world.violations.push(`${what}: ${networks.body.items.length} networks were made along and not one`);
  world.giveServers(place.region, answers);
}
