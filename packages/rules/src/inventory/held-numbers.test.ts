import { describe, expect, it } from "vitest";
import {
  addressKey,
  numbersHeldFor,
  plainAddress,
  type RecordedUse,
  type UseRecords,
} from "./held-numbers.ts";

const free: RecordedUse = { isFree: true, serverIds: [], ownerId: null, holder: null };
const of = (server: string): RecordedUse => ({
  isFree: false,
  serverIds: [server],
  ownerId: null,
  holder: server,
});
const records: UseRecords = {
  vlans: new Map([
    [100, { subnetId: "sub_a", cidr: "10.0.0.0/24" }],
    [101, { subnetId: null, cidr: null }],
  ]),
  addresses: new Map([
    [addressKey("sub_a", "10.0.0.4"), of("srv_a")],
    [addressKey("sub_a", "10.0.0.9"), { ...of("lb_a"), serverIds: [], ownerId: "lb_a" }],
    [addressKey("sub_a", "10.0.0.7"), free],
  ]),
  publicAddresses: new Map([
    ["203.0.113.5", free],
    ["203.0.113.6", of("srv_a")],
  ]),
  isInSubnet: (address) => address.startsWith("10.0.0."),
};
const inside = (vlan: number | null, ...addresses: string[]) => ({ vlan, isPrivate: true, addresses });
const outside = (...addresses: string[]) => ({ vlan: 10, isPrivate: false, addresses });
const words = (list: readonly { kind: string; value: string; holder: string | null }[]) =>
  list.map(({ kind, value, holder }) => [kind, value, holder].filter((part) => part !== null).join(" "));
const lost = (...interfaces: ReturnType<typeof inside>[]) =>
  numbersHeldFor({ vmid: 20_001, holder: null, isInPool: true, interfaces }, records);
const serverA = (...interfaces: ReturnType<typeof inside>[]) =>
  numbersHeldFor(
    { vmid: 20_002, holder: { serverId: "srv_a", ownerId: null }, isInPool: true, interfaces },
    records,
  );

describe("the numbers of a VM that the records do not know", () => {
  it("are its VM number, its VLAN where that is free, and its addresses", () => {
    const { held, disputed } = lost(inside(100, "10.0.0.5", "10.0.0.7"), outside("203.0.113.5"));
    expect(words(held)).toEqual([
      "vmid 20001",
      "address 10.0.0.5",
      "address 10.0.0.7",
      "public_address 203.0.113.5",
    ]);
    expect(disputed).toEqual([]);
    expect(words(lost(inside(101, "10.5.0.4")).held)).toEqual(["vmid 20001", "vlan 101"]);
  });

  it("are disputed when the records have them for another", () => {
    const { held, disputed } = lost(inside(100, "10.0.0.4"), outside("203.0.113.6"));
    expect(words(held)).toEqual(["vmid 20001"]);
    expect(words(disputed)).toEqual(["address 10.0.0.4 srv_a", "public_address 203.0.113.6 srv_a"]);
  });

  it("are none of Kule's when they are in no range of its own", () => {
    const vm = {
      vmid: 7,
      holder: null,
      isInPool: false,
      interfaces: [inside(4000, "10.0.0.5"), outside("1.1.1.1")],
    };
    expect(numbersHeldFor(vm, records)).toEqual({ held: [], disputed: [] });
    // What is a public address elsewhere is not one inside a private network.
    expect(numbersHeldFor({ ...vm, interfaces: [inside(4000, "203.0.113.5")] }, records).held).toEqual([]);
  });
});

describe("a server's own VM", () => {
  it("may use what the records have for it, and what its load balancer shares", () => {
    expect(serverA(inside(100, "10.0.0.4"), outside("203.0.113.6"))).toEqual({ held: [], disputed: [] });
    const machine = { serverId: "srv_m", ownerId: "lb_a" };
    const vm = { vmid: 20_003, holder: machine, isInPool: true, interfaces: [inside(100, "10.0.0.9")] };
    expect(numbersHeldFor(vm, records)).toEqual({ held: [], disputed: [] });
  });

  it("keeps an address from others that it was given after the moment of the backup", () => {
    const { held } = serverA(inside(100, "10.0.0.4"), outside("203.0.113.5"));
    expect(words(held)).toEqual(["public_address 203.0.113.5"]);
  });
});

describe("an entry of a firewall", () => {
  it.each([
    ["10.0.0.5", "10.0.0.5"],
    ["10.0.0.5/32", "10.0.0.5"],
    ["2001:DB8:0:0::5/128", "2001:db8::5"],
    ["10.0.0.0/24", null],
    ["'; drop table server; --", null],
    ["", null],
  ])("%s is the address %s", (text, address) => {
    expect(plainAddress(text)).toBe(address);
  });
});
