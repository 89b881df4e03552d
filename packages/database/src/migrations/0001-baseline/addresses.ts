import { isolateTenants } from "../tenant-isolation.ts";

/**
 * Private addresses, and those that an organisation reserves in its subnets.
 *
 * A reservation is a row of its own; its address is the row of `address` that refers to it, in any state: `reserved`
 * while no server uses it, `used` by a server that was created with it, `quarantined` when that server is deleted. So
 * the primary key of `address` keeps servers and reservations alike from sharing an address.
 */
export const addresses = `
create table address_reservation (
  id text primary key,
  organisation_id text not null references organisation (id),
  region text not null,
  subnet_id text not null,
  name text not null,
  description text not null default '',
  labels jsonb not null default '{}',
  generation integer not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (organisation_id, id),
  unique (organisation_id, id, subnet_id),
  constraint reservation_name unique (subnet_id, name),
  -- A subnet with a reserved address cannot be deleted.
  foreign key (organisation_id, subnet_id, region) references subnet (organisation_id, id, region)
);
create index address_reservation_list on address_reservation (organisation_id, subnet_id, created_at desc, id desc);
grant select, insert, update, delete on address_reservation to kule_api;
${isolateTenants("address_reservation")}

create table address (
  subnet_id text not null,
  address inet not null,
  organisation_id text not null,
  state text not null check (state in ('reserved', 'used', 'quarantined')),
  nic_id text unique,
  free_after timestamptz,
  reservation_id text,
  -- Since when it has its state.
  since timestamptz not null default clock_timestamp(),
  primary key (subnet_id, address),
  foreign key (organisation_id, subnet_id) references subnet (organisation_id, id) on delete cascade,
  foreign key (organisation_id, nic_id) references nic (organisation_id, id),
  check ((state = 'used') = (nic_id is not null)),
  check ((state = 'quarantined') = (free_after is not null)),
  constraint address_reservation_once unique (reservation_id),
  constraint address_reservation_key foreign key (organisation_id, reservation_id, subnet_id)
    references address_reservation (organisation_id, id, subnet_id)
);
create index address_quarantined on address (free_after) where state = 'quarantined';
grant select, insert, update, delete on address to kule_api;
${isolateTenants("address")}
`;
