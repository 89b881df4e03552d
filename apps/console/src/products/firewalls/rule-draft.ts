import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";
import { inEvaluationOrder, moveRule, neighbourOf } from "./rule-order.ts";

/** The peer of a rule, as a form has it: a kind or an id, and the text that some kinds need. */
export type DraftPeer = { readonly kind: string; readonly text: string };

/** A rule that is being edited. */
export type DraftRule = {
  readonly direction: "in" | "out";
  readonly action: "allow" | "deny";
  readonly protocol: Schemas["FirewallRuleProtocol"];
  readonly ports: string;
  readonly peers: readonly DraftPeer[];
  readonly priority: string;
  readonly description: string;
  readonly enabled: boolean;
};

export const maxRules = 100;
const protocols = ["tcp", "udp", "icmp", "icmpv6", "any"] as const;
const newPeer: DraftPeer = { kind: "any", text: "" };
const newRule: DraftRule = {
  direction: "in",
  action: "allow",
  protocol: "tcp",
  ports: "",
  peers: [newPeer],
  priority: "1000",
  description: "",
  enabled: true,
};

export function draftOf(rules: readonly Schemas["FirewallRule"][]): DraftRule[] {
  return inEvaluationOrder(rules).map((rule) => ({
    direction: rule.direction,
    action: rule.action,
    protocol: rule.protocol,
    ports: rule.ports.join(", "),
    peers: rule.peers.map(draftPeer),
    priority: String(rule.priority),
    description: rule.description,
    enabled: rule.enabled,
  }));
}

function draftPeer(peer: Schemas["FirewallPeer"]): DraftPeer {
  if (peer.cidr !== undefined) return { kind: "cidr", text: peer.cidr };
  if (peer.label_selector !== undefined) return { kind: "labels", text: peer.label_selector };
  return { kind: peer.subnet_id ?? peer.network_id ?? peer.firewall_id ?? "any", text: "" };
}

/** The rows of a posted form. Their fields are numbered from 0 without a gap. */
export function readDraft(form: URLSearchParams): DraftRule[] {
  const rules: DraftRule[] = [];
  for (let row = 0; row < maxRules && form.has(`rule-${row}-protocol`); row++) {
    const field = (name: string) => (form.get(`rule-${row}-${name}`) ?? "").trim();
    const peers: DraftPeer[] = [];
    for (let place = 0; place < 20 && form.has(`rule-${row}-peer-${place}`); place++)
      peers.push({ kind: field(`peer-${place}`), text: field(`peer-${place}-text`) });
    rules.push({
      direction: field("direction") === "out" ? "out" : "in",
      action: field("action") === "deny" ? "deny" : "allow",
      protocol: protocols.find((protocol) => protocol === field("protocol")) ?? "any",
      ports: field("ports"),
      peers,
      priority: field("priority"),
      description: field("description"),
      enabled: form.has(`rule-${row}-enabled`),
    });
  }
  return rules;
}

/** Applies a button of the form to its rows: `add`, `up:2`, `remove-peer:2:0`; any other value changes nothing. */
export function applyIntent(
  rules: readonly DraftRule[],
  intent: string,
): { readonly rules: readonly DraftRule[]; readonly focus: string | null } {
  const [act = "", ...places] = intent.split(":");
  const [row = -1, peer = -1] = places.map(Number);
  if (act === "add") {
    if (rules.length >= maxRules) return { rules, focus: null };
    return { rules: [...rules, newRule], focus: `rule-${rules.length}-protocol` };
  }
  const rule = rules[row];
  if (rule === undefined) return { rules, focus: null };
  switch (act) {
    case "remove":
      return { rules: rules.toSpliced(row, 1), focus: "add-rule" };
    case "up":
    case "down": {
      const to = neighbourOf(rules, row, act);
      if (to === null) return { rules, focus: null };
      return { rules: moveRule(rules, row, to), focus: `rule-${to}-${act}` };
    }
    case "add-peer":
      return {
        rules: rules.with(row, { ...rule, peers: [...rule.peers, { kind: "cidr", text: "" }].slice(0, 20) }),
        focus: `rule-${row}-peer-${rule.peers.length}`,
      };
    case "remove-peer":
      return {
        rules: rules.with(row, { ...rule, peers: rule.peers.toSpliced(peer, 1) }),
        focus: `rule-${row}-peer-0`,
      };
  }
  return { rules, focus: null };
}

/** The body of the request. The API reports errors in it beside their fields. */
export function rulesBody(rules: readonly DraftRule[]): RequestBody<"setFirewallRules"> {
  return {
    rules: rules.map(({ ports, peers, priority, ...rule }) => ({
      ...rule,
      ports: ports.split(/[\s,;]+/).filter((port) => port !== ""),
      peers: peers.map(peerOf),
      priority: typedNumber(priority),
    })),
  };
}

function peerOf({ kind, text }: DraftPeer): Schemas["FirewallPeer"] {
  if (kind === "any") return { any: true };
  if (kind === "cidr") return { cidr: text };
  if (kind === "labels") return { label_selector: text };
  if (kind.startsWith("sub_")) return { subnet_id: kind };
  if (kind.startsWith("net_")) return { network_id: kind };
  return { firewall_id: kind };
}

/** The field of the form for an error's pointer into the body. */
export function draftField(pointer: string): string | null {
  const [, list, row, property, place] = pointer.split("/");
  if (list !== "rules" || row === undefined) return null;
  if (property === "peers") return `rule-${row}-peer-${place ?? 0}`;
  return property === undefined ? null : `rule-${row}-${property}`;
}
