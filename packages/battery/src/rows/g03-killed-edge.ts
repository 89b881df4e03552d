import { probeWires } from "@kule/lab/wires/wires";
import { runKilledEdge } from "../reachability/killed-edge.ts";
import type { Row } from "../row.ts";

export const row: Row = {
  id: "G3",
  title:
    "An agent killed between any two commands to the edge leaves the old rules or the new ones, and the next run continues",
  minutes: 2,
  needs: { part: "wires", probe: probeWires },
  mutants: [
    {
      name: "rules-in-two-steps",
      removes: "the one transaction in which rules are replaced",
      patches: [
        {
          file: "packages/edge/src/apply.ts",
          find: `    case "replace-rules":
      return [`,
          replace: `    case "replace-rules":
      return [
        { words: ["ip", "netns", "exec", namespace, "nft", "flush", "ruleset"] },`,
        },
        {
          file: "packages/edge/src/apply.ts",
          find: "...(seenGeneration === null",
          replace: "...(seenGeneration !== undefined",
        },
      ],
      expects: /killed after \d+ commands: .* came to \S+, where neither state lets it/,
    },
    {
      name: "port-not-read-back",
      removes: "the check that the uplink's bridge has the forwarding entry of a gateway",
      patches: [
        {
          file: "packages/edge/src/plan.ts",
          find: " && (seen.isPinned || !isPinned(link))",
          replace: " && (!seen.isPinned || link !== undefined)",
        },
      ],
      expects: /killed after \d+ commands, and gone on: .* was flooded to \S+ eth\d/,
    },
  ],
  run: runKilledEdge,
};
