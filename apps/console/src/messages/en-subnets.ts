import type { Schemas } from "@kule/contract/schemas";

type AddressState = Schemas["AddressState"];

/** English texts of a subnet: its addresses, their users, and its reservations. */
export const subnetsEn = {
  subnet: {
    use: "Addresses",
    shares: { used: "used", quarantined: "quarantined", reserved: "reserved", free: "free" },
    total: (count: string) => `${count} that servers can have`,
    full: "No address is free. Release a reservation, or create another subnet.",
    reservations: "Reserved addresses",
    reservationsHint:
      "No server gets one of these automatically. Enter it when you create a server, and that server gets it.",
    noReservations: "Nothing is reserved.",
    name: "Name",
    note: "Description",
    address: "Address",
    addressHint: "If empty, the lowest free one is reserved.",
    reserve: "Reserve an address",
    change: "Change",
    changeNamed: (name: string) => `Change the reservation ${name}`,
    giveUp: "Give up",
    giveUpNamed: (name: string) => `Give up the reservation ${name}`,
    list: "Every address that is not free",
    state: "State",
    states: {
      used: "used",
      reserved: "reserved",
      quarantined: "quarantined",
      platform: "platform",
    } satisfies Record<AddressState, string>,
    allStates: "All states",
    holder: "Whose",
    roles: { network: "the network's own", gateway: "the gateway's", broadcast: "the broadcast" },
    keptBy: (name: string) => `reserved as ${name}`,
    nobody: "in quarantine",
    since: "Since",
    restsUntil: "Free",
    noneInState: "There is none in this state.",
    open: (name: string) => `Addresses of subnet ${name}`,
    subnetReserves: (count: number) =>
      count === 1 ? "One of its addresses is reserved." : `${count} of its addresses are reserved.`,
    notices: {
      created: "The subnet is created.",
      changed: "The subnet is changed.",
      reserved: "The address is reserved.",
      reservationChanged: "The reservation is changed.",
      givenUp:
        "The reservation is deleted. The address is quarantined for a while before it is assigned again.",
    } as Readonly<Record<string, string>>,
  },
};
