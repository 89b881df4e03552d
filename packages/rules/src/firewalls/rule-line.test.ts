import { expect, test } from "vitest";
import { linesOfFilter, ruleLine, type VmRule } from "./rule-line.ts";

const rule: VmRule = {
  id: "fwr_1",
  direction: "in",
  action: "allow",
  protocol: "tcp",
  ports: ["22", "8000-8100"],
  addresses: ["10.0.0.2", "10.0.0.1/32", "2001:DB8::1/128", "10.0.0.2"],
  device: null,
};

test("a rule is the same line however its addresses were written, and in whatever order", () => {
  expect(ruleLine(rule)).toBe("fwr_1 in allow tcp 22,8000-8100 10.0.0.1,10.0.0.2,2001:db8::1 all");
  expect(ruleLine({ ...rule, addresses: ["2001:db8::1", "10.0.0.2/32", "10.0.0.1"] })).toBe(ruleLine(rule));
});

test.each([
  { id: "fwr_2" },
  { direction: "out" },
  { action: "deny" },
  { protocol: "udp" },
  { ports: [] },
  { ports: ["22"] },
  { addresses: null },
  { addresses: ["10.0.0.0/24"] },
  { device: "net0" },
] satisfies Partial<VmRule>[])("another rule is another line: %o", (change) => {
  expect(ruleLine({ ...rule, ...change })).not.toBe(ruleLine(rule));
});

const filter = (rules: Parameters<typeof linesOfFilter>[0]["rules"]) => ({ is_filtered: true, rules });

test("without a firewall everything is let in, except from link-local addresses", () => {
  expect(linesOfFilter({ is_filtered: false, rules: [] }, 1)).toEqual([
    "platform_link_addresses in deny any all fe80::/10 all",
    "platform_no_firewall in allow any all any all",
  ]);
});

test("a rule for the private side is repeated for each interface there", () => {
  const { device: _, ...about } = rule;
  expect(
    linesOfFilter(
      filter([
        { ...about, side: "private" },
        { ...about, side: null },
        { ...about, side: "public" },
      ]),
      2,
    ).map((line) => line.split(" ").at(-1)),
  ).toEqual(["all", "net0", "net1", "all", "net2"]);
});

test("traffic from link-local addresses is refused before any rule is evaluated", () => {
  const { device: _, ...about } = rule;
  const [first] = linesOfFilter(filter([{ ...about, side: null }]), 1);
  expect(first).toBe("platform_link_addresses in deny any all fe80::/10 all");
  expect(linesOfFilter(filter([]), 1)).toEqual([first]);
});
