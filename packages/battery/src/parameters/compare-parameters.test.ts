import { expect, it } from "vitest";
import { compareParameters } from "./compare-parameters.ts";
import { refusal } from "./hypervisor-parameter.ts";

it("accepts no text for the hypervisor that the hypervisor refuses", { timeout: 120_000 }, async () => {
  const run = { seed: 1, scale: "sample", random: () => 0.5, progress: () => {}, mutant: null } as const;
  const { violations, cases } = await compareParameters(run);
  expect(violations).toEqual([]);
  expect(cases).toBeGreaterThan(200);
});

it("sees what the hypervisor would refuse", () => {
  const config = "POST /nodes/{node}/qemu/{vmid}/config";
  const rules = "POST /nodes/{node}/qemu/{vmid}/firewall/rules";
  expect(refusal(config, "ipconfig0", "ip=10.0.0.2/7")).toContain("ip");
  expect(refusal(config, "ipconfig0", "ip=10.0.0.2/8")).toBeNull();
  expect(refusal(config, "name", "a_b")).not.toBeNull();
  expect(refusal(rules, "dport", "2:1")).toContain("backwards");
  expect(refusal(rules, "dport", "1:2")).toBeNull();
});
