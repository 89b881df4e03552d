import { describe, expect, test } from "vitest";
import { type CreateFacts, decideCreate, decideServerAction } from "./preconditions.ts";

const fullQuota: CreateFacts["fullQuotas"][number] = {
  name: "quota_vcpu",
  code: "quota_exceeded",
  message: "full",
  resource: "org_1",
  fix: null,
  quota: { name: "vcpu", limit: 3, used: 3, asked: 1 },
};
const emptySubnet = { id: "sub_1", networkId: "net_1", deleting: false, hasFreeAddress: true, taken: null };
const ready: CreateFacts = {
  region: { slug: "ist1", maintenance: false, waitsForScan: false, hasFreeVmid: true, hasAgentKey: true },
  needsSealedPassword: false,
  name: "web-1",
  nameTakenBy: null,
  subnet: emptySubnet,
  hasFreeVlan: true,
  lacksRoomFor: null,
  fullQuotas: [],
};
const codes = (facts: CreateFacts) => decideCreate(facts).map((refusal) => refusal.code);

describe("creating", () => {
  test("nothing is refused when all preconditions hold", () => {
    expect(decideCreate(ready)).toEqual([]);
    expect(decideCreate({ ...ready, subnet: null })).toEqual([]);
  });

  test.each<[string, CreateFacts, string]>([
    ["maintenance", { ...ready, region: { ...ready.region, maintenance: true } }, "region_unavailable"],
    [
      "no agent key for a Windows password",
      { ...ready, needsSealedPassword: true, region: { ...ready.region, hasAgentKey: false } },
      "region_unavailable",
    ],
    ["a name in use", { ...ready, nameTakenBy: "srv_2" }, "name_taken"],
    [
      "a subnet on its way out",
      {
        ...ready,
        subnet: { id: "sub_1", networkId: "net_1", deleting: true, hasFreeAddress: true, taken: null },
      },
      "resource_deleting",
    ],
    [
      "a full subnet",
      {
        ...ready,
        subnet: { id: "sub_1", networkId: "net_1", deleting: false, hasFreeAddress: false, taken: null },
      },
      "subnet_exhausted",
    ],
    [
      "an address in use",
      {
        ...ready,
        subnet: {
          id: "sub_1",
          networkId: "net_1",
          deleting: false,
          hasFreeAddress: true,
          taken: { address: "10.0.0.9", serverId: "srv_2" },
        },
      },
      "address_in_use",
    ],
    [
      "not scanned since a restore",
      { ...ready, region: { ...ready.region, waitsForScan: true } },
      "region_unavailable",
    ],
    ["no VM number", { ...ready, region: { ...ready.region, hasFreeVmid: false } }, "vmid_exhausted"],
    ["no node with room", { ...ready, lacksRoomFor: "xxl" }, "capacity_unavailable"],
    ["a full quota", { ...ready, fullQuotas: [fullQuota] }, "quota_exceeded"],
    ["no VLAN for the default network", { ...ready, subnet: null, hasFreeVlan: false }, "vlan_exhausted"],
  ])("%s is the one refusal", (_what, facts, code) => {
    expect(codes(facts)).toEqual([code]);
  });

  test("the fix for a full subnet names its network", () => {
    const facts = { ...ready, subnet: { ...emptySubnet, hasFreeAddress: false } };
    expect(decideCreate(facts)[0]?.fix).toBe("POST /networks/net_1/subnets to make another subnet");
  });

  test("a VLAN is needed only for a new network, an agent key only for a sealed password", () => {
    expect(codes({ ...ready, hasFreeVlan: false })).toEqual([]);
    expect(codes({ ...ready, region: { ...ready.region, hasAgentKey: false } })).toEqual([]);
  });

  test("all refusals are answered at once", () => {
    const facts: CreateFacts = {
      ...ready,
      region: {
        slug: "ist1",
        maintenance: true,
        waitsForScan: false,
        hasFreeVmid: false,
        hasAgentKey: false,
      },
      needsSealedPassword: true,
      nameTakenBy: "srv_2",
      subnet: {
        id: "sub_1",
        networkId: "net_1",
        deleting: true,
        hasFreeAddress: false,
        taken: { address: "10.0.0.9", serverId: null },
      },
    };
    expect(codes(facts)).toEqual([
      "region_unavailable",
      "region_unavailable",
      "name_taken",
      "resource_deleting",
      "address_in_use",
      "subnet_exhausted",
      "vmid_exhausted",
    ]);
  });
});

describe("acting on a server", () => {
  const idle = {
    rebuildProtected: false,
    wasCreated: true,
    openJob: null,
    agentAnswers: null,
    passwordByAgentOnly: false,
    lockedFor: null,
    managedBy: null,
  };
  test("a refused delete names what would allow it", () => {
    expect(
      decideServerAction("delete", { id: "srv_1", status: "running", deleteProtected: true, ...idle }),
    ).toMatchObject([{ code: "protected", fix: 'PATCH /servers/srv_1 {"protection":{"delete":false}}' }]);
  });

  test("what the removal buffer forbids becomes possible by leaving it", () => {
    expect(
      decideServerAction("update", {
        id: "srv_1",
        status: "pending_deletion",
        deleteProtected: false,
        ...idle,
      }),
    ).toMatchObject([{ code: "resource_deleting", fix: "POST /servers/srv_1/cancel-deletion" }]);
    expect(
      decideServerAction("update", { id: "srv_1", status: "deleting", deleteProtected: false, ...idle }),
    ).toMatchObject([{ code: "resource_deleting", fix: null }]);
  });

  test.each([
    [false, "stopped", 'POST /servers/srv_1/password-reset {"when":"next_boot"}'],
    [true, "stopped", 'POST /servers/srv_1/power {"action":"start"}'],
    [true, "running", "Wait until the guest has started, or start the QEMU guest agent in it"],
  ] as const)(
    "where no guest agent sets a password (Windows: %s, %s) the fix is: %s",
    (passwordByAgentOnly, status, fix) => {
      const server = { ...idle, id: "srv_1", status, deleteProtected: false, passwordByAgentOnly };
      expect(decideServerAction("password_reset_now", { ...server, agentAnswers: false })).toMatchObject([
        { code: "guest_agent_unavailable", fix },
      ]);
    },
  );

  test("what is allowed has no refusals", () => {
    expect(
      decideServerAction("delete", { id: "srv_1", status: "error", deleteProtected: false, ...idle }),
    ).toEqual([]);
  });
});
