import { describe, expect, it } from "vitest";
import { startedOpen } from "./filtered-start.ts";

const of = (vmid: number, ...ops: readonly string[]) => ops.map((op) => ({ op, vmid }));
const rule = "firewall-rule-created";

describe("a VM that is created with a firewall", () => {
  it("is correct when it starts after all of its rules, in whatever order they were written and whatever existed before", () => {
    const journal = [
      ...of(7, rule, "vm-started", "vm-destroyed", "clone-finished", "firewall-options", rule),
      ...of(8, "vm-started"),
      ...of(
        7,
        rule,
        rule,
        "firewall-rule-deleted",
        "config-changed",
        "vm-started",
        "vm-stopped",
        "vm-started",
      ),
    ];
    expect(startedOpen(journal, 7, 2)).toEqual([]);
  });

  it("is found when it was started before, or got a rule afterwards", () => {
    const late = of(7, "clone-finished", rule, "vm-started", rule);
    expect(startedOpen(late, 7, 2)).toEqual([
      "was started with 1 of its 2 rules",
      "got rules after its first start",
    ]);
    expect(startedOpen(of(7, "clone-finished", "vm-started"), 7, 1)).toHaveLength(1);
  });

  it("is found when it never was started and has too few", () =>
    expect(startedOpen(of(7, "clone-finished", rule), 7, 2)).toHaveLength(1));

  it("is ignored for a server that was started manually", () =>
    expect(startedOpen(of(7, "clone-finished", "world-power", rule), 7, 1)).toEqual([]));
});
