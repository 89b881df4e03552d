import { attachRaces, publicIpRace } from "../allocation-races/public-ip-races.ts";
import { clients, RaceWorld } from "../allocation-races/race-world.ts";
import {
  addressRace,
  firstServersRace,
  nameRace,
  reservationRace,
  vlanRace,
  vmidRace,
  wantedAddressRace,
} from "../allocation-races/races.ts";
import { shuffled } from "../races/shuffled.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

/** At least so many are given out at full length. */
const wantedAllocations = 2_000;

const subnetStore = "apps/api/src/products/networks/subnet-store.ts";

export const row: Row = {
  id: "B1",
  title: "32 clients that race for addresses, VM numbers, VLANs and names get each of them once",
  minutes: 1,
  mutants: [
    {
      name: "address-taken-over",
      removes: "the look whether somebody else has just got the address that was free",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/addresses.ts",
          find: `on conflict (subnet_id, address) do nothing;
      if found then
        perform`,
          replace: `on conflict (subnet_id, address) do update set nic_id = excluded.nic_id, state = 'used';
      if found then
        perform`,
        },
      ],
      expects: /answers that nothing explains: .*500|has no address/,
    },
    {
      name: "reserved-twice",
      removes: "the check that a requested address is not reserved",
      patches: [
        {
          file: "apps/api/src/products/networks/addresses.ts",
          find: "and (address.reservation_id is null or",
          replace: "and (true or",
        },
      ],
      expects: /for servers and reservations: answers that nothing explains: .*500/,
    },
    {
      name: "no-vmid-lock",
      removes: "the lock on the free VM number that is allocated",
      patches: [
        {
          file: "apps/api/src/products/servers/allocations.ts",
          find: `        .forUpdate()
        .skipLocked(),`,
          replace: "",
        },
      ],
      expects: /VM numbers: answers that nothing explains: .*500|MAC of .* twice|VMIDs/,
    },
    {
      name: "no-vlan-lock",
      removes: "the lock on the free VLAN that is allocated",
      patches: [
        {
          file: subnetStore,
          find: `        .forUpdate()
        .skipLocked(),`,
          replace: "",
        },
      ],
      expects: /VLANs/,
    },
    {
      name: "no-unique-name",
      removes: "the unique index on the names of live servers",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/servers.ts",
          find: "create unique index server_name on",
          replace: "create index server_name on",
        },
      ],
      expects: /server names: \d+ were accepted for/,
    },
    {
      name: "no-public-address-lock",
      removes: "the lock on the free public address that is reserved",
      patches: [
        {
          file: "apps/api/src/products/public-ips/allocation.ts",
          find: '    .forUpdate("public_address");',
          replace: ";",
        },
        {
          file: "apps/api/src/products/public-ips/allocation.ts",
          find: "if (skipsLocked) free = free.skipLocked();",
          replace: "if (skipsLocked && wish.version === 5) free = free.skipLocked();",
        },
      ],
      expects: /public IPv[46] addresses: answers that nothing explains: .*500|public address of .* twice/,
    },
    {
      name: "no-public-ip-lock",
      removes: "the lock on an address that is attached or released",
      patches: [
        {
          file: "apps/api/src/products/public-ips/store.ts",
          find: `    .forUpdate()
    .executeTakeFirst();
  return locked === undefined`,
          replace: `    .executeTakeFirst();
  return locked === undefined`,
        },
      ],
      expects: /an address (attached to two servers|given back while it is attached)/,
    },
  ],

  async run(run: RowRun) {
    const world = await RaceWorld.open();
    const full = run.scale === "full";
    let rounds = 0;
    try {
      do {
        rounds += 1;
        // The order is the seed's: what one race leaves behind is the next one's surroundings.
        const races = [
          () => addressRace(world, "10.3.0.0/24", full ? 253 : 60, full ? 47 : 0),
          () => addressRace(world, "10.4.0.0/29", 5, 27),
          () => addressRace(world, "10.5.0.0/27", 29, 35),
          () => wantedAddressRace(world, full ? 16 : 4, 8),
          () => reservationRace(world, "10.6.0.0/26", 61, full ? 35 : 5),
          () => vmidRace(world, full ? 100 : 40, 24),
          () => vlanRace(world, full ? 60 : 24, 16),
          () => nameRace(world, full ? 12 : 4, 16),
          () => firstServersRace(world, clients),
          () => publicIpRace(world, 4, full ? 100 : 40, 24),
          () => publicIpRace(world, 6, full ? 60 : 20, 12),
          () => attachRaces(world, full ? 8 : 3),
        ];
        for (const race of shuffled(races, run.random)) await race();
        run.progress(`round ${rounds}: ${world.allocations} given out`);
        world.violations.push(
          ...(await worldViolations(world.servers.world.database.ownerUrl, `after round ${rounds}`)),
        );
      } while (full && world.allocations < wantedAllocations && rounds < 20);
      return {
        cases: world.allocations,
        violations: world.violations,
        figures: { requests: world.requests, clients, "asked again after 503": world.busy },
      };
    } finally {
      await world.close();
    }
  },
};
