import { probeWires } from "@kule/lab/wires/wires";
import { oneReader } from "../mutants/one-reader.ts";
import type { Row } from "../row.ts";
import { runChanges } from "../under-traffic/run-changes.ts";

const difference = "packages/proxmox/src/vm-firewall-difference.ts";

export const row: Row = {
  id: "G2",
  title:
    "While a server's firewall or a network's rules on the edge are replaced, no flow that both states allow loses a packet, and no packet arrives that both deny",
  minutes: 3,
  needs: { part: "wires", probe: probeWires },
  mutants: [
    {
      name: "edge-rules-stay",
      removes: "the comparison of the edge's rules with those that are wanted",
      patches: [
        {
          file: "packages/edge/src/plan.ts",
          find: "if (!isDeepStrictEqual(seen.ruleset.objects, rules))",
          replace: "if (seen.ruleset.objects.length === 0)",
        },
      ],
      expects: /^the edge from .*: nothing was changed/,
    },
    {
      name: "firewall-rules-stay",
      removes: "the end of a firewall's old rules",
      patches: [
        {
          file: difference,
          find: 'return lowest === undefined ? null : { do: "delete-rule", position: lowest.position };',
          replace: "return null;",
        },
        oneReader,
      ],
      expects: /^the firewall from .*: nothing was changed, or not all/,
    },
    {
      name: "rules-in-two-steps",
      removes: "the one transaction in which the edge's rules are replaced",
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
      expects: /^the edge from .* came (through )?\d+ times, although neither state allows it/,
    },
    {
      name: "old-rules-from-the-first",
      removes: "that a firewall's old rules are removed from the last to the first",
      patches: [
        {
          file: difference,
          find: "const lowest = surplus.at(-1);",
          replace: "const lowest = surplus.at(0);",
        },
      ],
      expects: /^the firewall from .*: the stranger's .* came \d+ times, although neither state allows it/,
    },
    {
      name: "old-rules-go-first",
      removes: "that a firewall's new rules are in force before the old ones are removed",
      patches: [
        {
          file: difference,
          find: "if (missing.length > 0) return stage(",
          replace: "if (missing.length > 0 && surplus.length === 0) return stage(",
        },
      ],
      expects: /^the firewall from .*: a new \S+ to the server got no answer \d+ times, although both/,
    },
    {
      name: "policy-opened-first",
      removes: "that a firewall allows nothing else in while its rules are replaced",
      patches: [
        {
          file: "packages/programs/src/firewalls/program.ts",
          find: "      await world.hypervisor.setFirewall(vmid, ownerOf(job, world), desiredFirewall(job.payload), effect);",
          replace: `      const wanted = desiredFirewall(job.payload);
      const open = { ...wanted, options: { ...wanted.options, policy_in: "ACCEPT" as const } };
      await world.hypervisor.setFirewall(vmid, ownerOf(job, world), open, effect);
      await world.hypervisor.setFirewall(vmid, ownerOf(job, world), wanted, effect);`,
        },
      ],
      expects: /^the firewall from .*: the stranger's .* came (through )?\d+ times, although neither state/,
    },
  ],
  run: runChanges,
};
