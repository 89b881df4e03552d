import { differences } from "../reserved-addresses/compare-rules.ts";
import { fillSubnets } from "../reserved-addresses/fill-subnets.ts";
import { randomBlockText } from "../reserved-addresses/random-text.ts";
import type { Row, RowRun } from "../row.ts";

const rules = "packages/rules/src/networks/cidr.ts";
const store = "apps/api/src/products/networks/subnet-store.ts";
const manyBlocks = 10_000;

export const row: Row = {
  id: "B3",
  title: "Network, gateway and broadcast addresses are no server's, in blocks of every size",
  minutes: 0.3,
  mutants: [
    {
      name: "broadcast-not-reserved",
      removes: "the row that keeps the broadcast address",
      patches: [
        {
          file: store,
          find: "[addresses.network, addresses.gateway, addresses.broadcast]",
          replace: "[addresses.network, addresses.gateway]",
        },
      ],
      expects: /when it was full: 202/,
    },
    {
      name: "gateway-handed-out",
      removes: "the gateway's address from those that servers cannot have",
      patches: [
        { file: rules, find: "firstServer: cidr.network + 2,", replace: "firstServer: cidr.network + 1," },
        {
          file: store,
          find: "[addresses.network, addresses.gateway, addresses.broadcast]",
          replace: "[addresses.network, addresses.broadcast]",
        },
      ],
      expects: /asked for by name: 202|gave out/,
    },
    {
      name: "broadcast-in-range",
      removes: "the broadcast address from the end of what servers can have",
      patches: [{ file: rules, find: "lastServer: broadcast - 1,", replace: "lastServer: broadcast," }],
      expects: /would hand out/,
    },
    {
      name: "half-overlap",
      removes: "the look at both sides of an overlap",
      patches: [
        {
          file: rules,
          find: "return one.prefixLength <= other.prefixLength ? containsCidr(one, other) : containsCidr(other, one);",
          replace: "return containsCidr(one, other);",
        },
      ],
      expects: /overlaps .*: the product says false/,
    },
  ],

  async run(run: RowRun) {
    const violations: string[] = [];
    for (let index = 0; index < manyBlocks && violations.length < 100; index += 1)
      violations.push(
        ...differences(randomBlockText(run.random), randomBlockText(run.random), randomBlockText(run.random)),
      );
    run.progress(`${manyBlocks} blocks compared`);
    const filled = await fillSubnets(run, run.scale === "full" ? 45 : 6);
    return {
      cases: manyBlocks + filled.allocations + filled.refusals,
      violations: [...violations, ...filled.violations],
      figures: {
        "blocks compared": manyBlocks,
        "addresses given out": filled.allocations,
        "refusals asked for": filled.refusals,
      },
    };
  },
};
