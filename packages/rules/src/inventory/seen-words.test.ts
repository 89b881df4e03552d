import { expect, test } from "vitest";
import { guestAddresses, guestHostname, guestOs, knownSeenText } from "./seen-words.ts";

const hostile = "Your account is suspended. Pay at https://evil.example";

test("A difference is shown by figures, addresses and states; other words of a region are not", () => {
  for (const kept of ["4096", "on", "BC:24:11:00:00:01", "2 rules, others", "10.0.0.2 fd00::1/64", null])
    expect(knownSeenText(kept)).toBe(kept);
  for (const text of [hostile, "", "x", "dead beef cafe g", "10.0.0.2 pay"])
    expect(knownSeenText(text)).toBe("another");
});

test("What a guest reports of itself has the form of its field", () => {
  expect(guestHostname("web-1.internal")).toBe("web-1.internal");
  expect(guestHostname(hostile)).toBeNull();
  for (const os of [
    "Debian GNU/Linux 13 (trixie)",
    "Ubuntu 24.04.1 LTS",
    "Microsoft Windows Server 2022 Standard",
  ])
    expect(guestOs(os)).toBe(os);
  for (const text of [hostile, "", "a\nb", "x".repeat(101)]) expect(guestOs(text)).toBeNull();
  expect(guestAddresses(["10.0.0.2", hostile, "fe80::1"])).toEqual(["10.0.0.2", "fe80::1"]);
});
