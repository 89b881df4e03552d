import { expect, test } from "vitest";
import { limitText, typedLimits } from "./quota-amounts.ts";

test("an empty field is no limit, 0 means 0, and no other text means no limit", () => {
  const typed: Record<string, string> = { servers: "", vcpu: "0", disk_gb: "lots", memory_mb: "1.5" };
  const limits = typedLimits(
    [
      { name: "servers", unit: "count" },
      { name: "vcpu", unit: "count" },
      { name: "disk_gb", unit: "GB" },
      { name: "memory_mb", unit: "MB" },
    ],
    (name) => typed[name] ?? "",
  );
  expect(JSON.stringify(limits)).toBe('{"servers":null,"vcpu":0,"disk_gb":"lots","memory_mb":1536}');
});

test.each([0, 1, 1000, 1024, 1536, 65_536])(
  "a memory limit of %d MB survives a round trip through the form",
  (limit) => {
    const shown = limitText({ limit, unit: "MB" });
    expect(typedLimits([{ name: "memory_mb", unit: "MB" }], () => shown)).toEqual({ memory_mb: limit });
  },
);
