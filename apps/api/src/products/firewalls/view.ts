import type { Schemas } from "@kule/contract/schemas";
import { platformRules } from "@kule/rules/firewalls/firewall";
import type { Caller } from "../../platform/caller.ts";
import type { AttachmentState } from "./attachment-status.ts";
import type { FirewallDetails, StoredAttachment, StoredRule } from "./store.ts";

export function viewFirewall(
  row: FirewallDetails,
  states: ReadonlyMap<string, AttachmentState>,
  caller: Pick<Caller, "permissions">,
): Schemas["Firewall"] {
  return {
    id: row.id,
    name: row.name,
    region: row.region,
    description: row.description,
    rules: row.rules.map(viewRule),
    platform_rules: platformRules.map((rule) => ({ ...rule })),
    attachments: row.attachments.map((each) => viewAttachment(each, states.get(each.id), caller)),
    labels: row.labels as Schemas["Labels"],
    generation: row.generation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

export function viewRule({ ports, peers, ...rule }: StoredRule): Schemas["FirewallRule"] {
  return { ...rule, ports: [...ports], peers: [...peers] };
}

function viewAttachment(
  { id, server_id, subnet_id, label_selector, name, created_at }: StoredAttachment,
  state: AttachmentState = { servers: 0, status: "applied" },
  { permissions }: Pick<Caller, "permissions">,
): Schemas["FirewallAttachment"] {
  const maySee = permissions.has(server_id === null ? "network:read" : "server:read");
  return {
    id,
    type: server_id !== null ? "server" : subnet_id !== null ? "subnet" : "label_selector",
    server_id,
    subnet_id,
    label_selector,
    name: maySee ? name : null,
    ...state,
    created_at: new Date(created_at).toISOString(),
  };
}
