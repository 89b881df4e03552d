import { ApiWorld } from "@kule/api/testing/api-world";
import { differences } from "../reserved-addresses/compare-rules.ts";
import { fillPools } from "../reserved-addresses/fill-pools.ts";
import { fillSubnets } from "../reserved-addresses/fill-subnets.ts";
import { randomBlockText } from "../reserved-addresses/random-text.ts";
import type { Row, RowRun } from "../row.ts";

const rules = "packages/rules/src/networks/cidr.ts";
const store = "apps/api/src/products/networks/subnet-store.ts";
const manyBlocks = 10_000;

export const row: Row = {
  id: "B3",
  title:
    "Network, gateway and broadcast addresses are never assigned to a server, in blocks and pools of every size",
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
      removes: "the check of both sides of an overlap",
      patches: [
        {
          file: rules,
          find: "return one.prefixLength <= other.prefixLength ? containsCidr(one, other) : containsCidr(other, one);",
          replace: "return containsCidr(one, other);",
        },
      ],
      expects: /overlaps .*: the product says false/,
    },
    {
      name: "public-broadcast-handed-out",
      removes: "the broadcast address from the reserved ones of a pool",
      patches: [
        {
          file: "packages/rules/src/public-ips/addresses.ts",
          find: "[...new Set([first, gateway, last])]",
          replace: "[...new Set([first, gateway])]",
        },
      ],
      expects: /allocated by name of|gave out|one address too many/,
    },
    {
      name: "public-gateway-handed-out",
      removes: "the gateway from the reserved ones of an IPv6 pool",
      patches: [
        {
          file: "packages/rules/src/public-ips/addresses.ts",
          find: "return first === gateway ? [gateway] : [first, gateway];",
          replace: "return first === gateway ? [gateway] : [first];",
        },
      ],
      expects: /allocated by name of|gave out|one address too many/,
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
    const world = await ApiWorld.open();
    const pools = await fillPools(world, run, run.scale === "full" ? 42 : 14).finally(() => world.close());
    return {
      cases: manyBlocks + filled.allocations + filled.refusals + pools.allocations + pools.refusals,
      violations: [...violations, ...filled.violations, ...pools.violations],
      figures: {
        "blocks compared": manyBlocks,
        "addresses given out": filled.allocations,
        "public addresses given out": pools.allocations,
        "refusals asked for": filled.refusals + pools.refusals,
      },
    };
  },
};
