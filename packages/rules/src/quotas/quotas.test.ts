import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quotaNames } from "./names.ts";
import {
  addQuota,
  decideQuotas,
  heldInRemoval,
  type QuotaLimits,
  serverQuota,
  takenByRestore,
} from "./quotas.ts";

const none = Object.fromEntries(quotaNames.map((name) => [name, null])) as QuotaLimits;
const m = serverQuota({ vcpu: 2, memoryMb: 4096, diskGb: 80 });
const amounts = fc.record(
  Object.fromEntries(quotaNames.map((name) => [name, fc.integer({ min: 0, max: 9 })])),
);

describe("quotas", () => {
  test("no limit refuses nothing", () => {
    expect(decideQuotas("org_1", none, { servers: 1e6 }, m)).toEqual([]);
  });

  test("what fits exactly is accepted, and one more is refused with its figures and a fix", () => {
    expect(decideQuotas("org_1", { ...none, vcpu: 8 }, { vcpu: 6 }, m)).toEqual([]);
    expect(decideQuotas("org_1", { ...none, vcpu: 8 }, { vcpu: 7 }, m)).toEqual([
      {
        name: "quota_vcpu",
        code: "quota_exceeded",
        message: "The organisation has 7 of at most 8 vCPUs; 2 more are asked for",
        resource: "org_1",
        fix: "Ask an operator to raise the limit, or make room: delete another server, which frees its vCPUs at once",
        quota: { name: "vcpu", limit: 8, used: 7, asked: 2 },
      },
    ]);
  });

  test("every full quota is named, each once", () => {
    const full = Object.fromEntries(quotaNames.map((name) => [name, 0])) as QuotaLimits;
    const all = Object.fromEntries(quotaNames.map((name) => [name, 1]));
    expect(decideQuotas("org_1", full, {}, all).map(({ quota }) => quota.name)).toEqual([...quotaNames]);
  });

  test("a release needs no quota, even above the limit", () => {
    expect(decideQuotas("org_1", { ...none, vcpu: 1 }, { vcpu: 9 }, { vcpu: -2, memory_mb: 0 })).toEqual([]);
  });

  test("what a removal keeps and what its restore takes make up the whole server", () => {
    expect(addQuota(heldInRemoval(m), takenByRestore(m))).toEqual(addQuota(m, {}));
    expect(heldInRemoval(m)).toEqual({ servers: 1, disk_gb: 80 });
  });

  test("a sum less one part is the other part", () => {
    fc.assert(
      fc.property(amounts, amounts, (one, other) => {
        expect(addQuota(addQuota(one, other), other, -1)).toEqual(addQuota(one, {}));
      }),
    );
  });
});
