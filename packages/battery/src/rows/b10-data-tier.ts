import { probeWires } from "@kule/lab/wires/wires";
import { runDataTier } from "../reachability/data-tier.ts";
import type { Row } from "../row.ts";

export const row: Row = {
  id: "B10",
  title:
    "A data subnet never reaches the internet: not by the API, not by the edge's rules, and by no packet",
  minutes: 1,
  needs: { part: "wires", probe: probeWires },
  mutants: [
    {
      name: "addresses-for-data",
      removes: "the refusal of public addresses in data subnets",
      patches: [
        {
          file: "packages/rules/src/networks/tiers.ts",
          find: "if (mayHaveEgress(subnet.tier)) return null;",
          replace: "if (subnet.tier !== null) return null;",
        },
      ],
      expects: /^by the API: .* was answered (?!409 tier_forbids_egress)/,
    },
    {
      name: "no-commit-check",
      removes: "the commit check on public addresses of data subnets",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/public-ip-checks.ts",
          find: "u.tier = 'data')",
          replace: "u.tier = 'nothing')",
        },
      ],
      expects: /^past the API: an address for \S+ was committed/,
    },
    {
      name: "edge-serves-data",
      removes: "the edge's refusal to serve a data subnet",
      patches: [
        {
          file: "packages/edge/src/check-network.ts",
          find: "if (!mayHaveEgress(subnet.tier))",
          replace: 'if (!mayHaveEgress(subnet.tier) && subnet.subnetId === "")',
        },
      ],
      expects: /^by the edge: it took a state with a data subnet/,
    },
  ],
  run: runDataTier,
};
