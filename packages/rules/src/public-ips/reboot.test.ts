import { expect, test } from "vitest";
import { needsNoReboot, type SeenGuest } from "./reboot.ts";

const sinceMs = 1_800_000_000_000;
const at = (seconds: number) => sinceMs + seconds * 1000;
const guest: SeenGuest = { power: "on", bootAtMs: at(-600), addresses: ["10.0.0.5", "fe80::1"] };
const noReboot = (more: Partial<SeenGuest>, address = "203.0.113.7") =>
  needsNoReboot({ address, sinceMs }, { ...guest, ...more });

test("a guest needs a reboot for its address until it shows it, is off, or was switched on since", () => {
  expect(noReboot({})).toBe(false);
  expect(noReboot({ addresses: ["10.0.0.5", "203.0.113.7"] })).toBe(true);
  expect(noReboot({ addresses: ["203.0.113.70"] })).toBe(false);
  expect(noReboot({ addresses: ["2001:DB8::7"] }, "2001:db8::7")).toBe(true);
  expect(noReboot({ power: "off", bootAtMs: null, addresses: [] })).toBe(true);
  expect(noReboot({ bootAtMs: at(10), addresses: [] })).toBe(true);
});

test("a boot that rounding puts behind the change is not taken for a later one", () => {
  expect(noReboot({ bootAtMs: at(1) })).toBe(false);
  expect(noReboot({ bootAtMs: null })).toBe(false);
});
