import { probeWires } from "@kule/lab/wires/wires";
import type { Row } from "../row.ts";
import { runRuleInput } from "../rule-input/run-rule-input.ts";

export const row: Row = {
  id: "E3",
  title:
    "Whatever an owner writes into networks and firewalls, the rules are the requested ones and no others",
  minutes: 2,
  needs: { part: "wires", probe: probeWires },
  mutants: [
    {
      name: "descriptions-in-rules",
      removes: "that a rule on a VM has its id as comment, by the payload and by the agent's own check",
      patches: [
        {
          file: "apps/api/src/products/firewalls/intent.ts",
          find: "function asRule({ id, direction, action, protocol, ports, peers, priority, enabled }: StoredRule) {",
          replace: `function asRule({ id: own, description, direction, action, protocol, ports, peers, priority, enabled }: StoredRule) {
  const id = description || own;`,
        },
        {
          file: "packages/programs/src/firewalls/desired-firewall.ts",
          find: 'if (!/^[a-z0-9_]{1,60}$/.test(id)) throw badRule("?", "has no id");',
          replace: 'if (id === "") throw badRule("?", "has no id");',
        },
      ],
      expects: /^VM \d+ has a rule with the comment |^jobs/,
    },
    {
      name: "networks-by-name",
      removes: "that a network's namespace is named by its id, by the payload and by the edge's own check",
      patches: [
        {
          file: "apps/api/src/products/networks/payload.ts",
          find: `.select(["edge_generation", "status"])`,
          replace: `.select(["edge_generation", "status", "name"])`,
        },
        {
          file: "apps/api/src/products/networks/payload.ts",
          find: "network: { id: networkId, organisation_id: organisationId },",
          replace: "network: { id: network.name, organisation_id: organisationId },",
        },
        {
          file: "packages/edge/src/names.ts",
          find: "const networkId = /^net_[0-9a-z]{1,60}$/;",
          replace: "const networkId = /^./;",
        },
      ],
      expects: /^the edge has the namespace "kule-(?!net_)/,
    },
    {
      name: "ports-open-the-uplink",
      removes: "that a forwarded port opens only itself",
      patches: [
        {
          file: "packages/edge/src/render-ruleset.ts",
          find: "...gateway.portForwards.flatMap((each) => forwardRules(each, address)),",
          replace: `...gateway.portForwards.flatMap((each) => [...forwardRules(each, address), rule("through", from(uplinkName), accept)]),`,
        },
      ],
      expects: /has \d+ rules in through, and not \d+/,
    },
  ],
  run: runRuleInput,
};
