import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { allOperations, bodySchema, type JsonSchema, parametersOf, resolved } from "./contract-schema.ts";

/** What an identifier in a request can stand for. */
export type ReferenceKind =
  | "organisation"
  | "member"
  | "invitation"
  | "token"
  | "agent_token"
  | "region"
  | "ssh_key"
  | "network"
  | "subnet"
  | "reservation"
  | "server"
  | "ip_pool"
  | "ip_pool_range"
  | "ip_pool_address"
  | "public_ip"
  | "console_session"
  | "login_session"
  | "passkey"
  | "identity"
  | "gateway"
  | "port_forward"
  | "firewall"
  | "firewall_rule"
  | "firewall_attachment"
  | "job"
  /** Any resource's id, as a filter. */
  | "resource"
  | "cursor";

/** A place in a request that names something which may belong to somebody else. */
export type ReferencePlace = {
  readonly operation: OperationId;
  readonly where: "path" | "query" | "header" | "body";
  /** The parameter's name, or the JSON pointer with `*` for a list's items. */
  readonly name: string;
  readonly kind: ReferenceKind;
};

const pathKinds: { readonly [name: string]: ReferenceKind } = {
  organisation_id: "organisation",
  member_id: "member",
  invitation_id: "invitation",
  token_id: "token",
  region: "region",
  ssh_key_id: "ssh_key",
  network_id: "network",
  subnet_id: "subnet",
  reservation_id: "reservation",
  server_id: "server",
  ip_pool_id: "ip_pool",
  range_id: "ip_pool_range",
  address: "ip_pool_address",
  public_ip_id: "public_ip",
  session_id: "console_session",
  login_session_id: "login_session",
  passkey_id: "passkey",
  identity_id: "identity",
  gateway_id: "gateway",
  port_forward_id: "port_forward",
  firewall_id: "firewall",
  firewall_rule_id: "firewall_rule",
  firewall_attachment_id: "firewall_attachment",
  job_id: "job",
};
const queryKinds: { readonly [name: string]: ReferenceKind | null } = {
  resource: "resource",
  cursor: "cursor",
  region: "region",
  // These name nothing that somebody could own; an actor is looked for in the organisation's own trail only.
  actor: null,
  action: null,
  dry_run: null,
  fresh: null,
  from: null,
  group_by: null,
  kind: null,
  label_selector: null,
  limit: null,
  name: null,
  of: null,
  outcome: null,
  purge: null,
  q: null,
  reason: null,
  // Operators' filter: no organisation's server is foreign to them.
  server_id: null,
  sort: null,
  state: null,
  status: null,
  to: null,
  wait: null,
};
const headerKinds: { readonly [name: string]: ReferenceKind | null } = {
  "Kule-Organisation": "organisation",
  "Idempotency-Key": null,
  "If-Match": null,
  "Last-Event-ID": null,
};
const bodyKinds: { readonly [name: string]: ReferenceKind | null } = {
  organisation_id: "organisation",
  restricted_to: "organisation",
  region: "region",
  subnet_id: "subnet",
  subnet_ids: "subnet",
  network_id: "network",
  firewall_id: "firewall",
  firewall_ids: "firewall",
  server_id: "server",
  public_ip: "public_ip",
  ssh_key_ids: "ssh_key",
  // Made by the agent for its own call.
  claim_id: null,
};
const soundsLikeReference =
  /(_ids?|_to|_by|_of|^region|^organisation|^server|^network|^subnet|^job|^resource)$/;

/** Every place of every operation that can name a resource. New parameters must be sorted here first. */
export function referencePlaces(): { places: ReferencePlace[]; unsorted: string[] } {
  const places: ReferencePlace[] = [];
  const unsorted: string[] = [];
  for (const info of allOperations()) {
    const note = (where: ReferencePlace["where"], name: string, kind: ReferenceKind | null | undefined) => {
      if (kind === undefined) unsorted.push(`${info.id}: ${where} ${name}`);
      else if (kind !== null) places.push({ operation: info.id, where, name, kind });
    };
    for (const { name, in: where } of parametersOf(info.id)) {
      if (where === "path") note(where, name, pathKind(info, name));
      else note(where, name, (where === "query" ? queryKinds : headerKinds)[name]);
    }
    const schema = bodySchema(info.id);
    if (schema !== null)
      for (const { name, pointer } of propertiesOf(schema)) {
        // What stands in a marker is what somebody wrote on a guest, right or wrong: no answer is looked up by it.
        if (pointer.includes("/marker/")) continue;
        const kind = bodyKinds[name];
        if (kind !== undefined || soundsLikeReference.test(name)) note("body", pointer, kind);
      }
  }
  return { places, unsorted };
}

function pathKind(info: OperationInfo, name: string): ReferenceKind | undefined {
  return name === "token_id" && info.path.startsWith("/regions/") ? "agent_token" : pathKinds[name];
}

function propertiesOf(schema: JsonSchema, pointer = ""): { name: string; pointer: string }[] {
  return Object.entries(resolved(schema).properties ?? {}).flatMap(([name, property]) => {
    const own = resolved(property);
    const here = `${pointer}/${name}`;
    const isList = own.items !== undefined;
    return [
      { name, pointer: isList ? `${here}/*` : here },
      ...propertiesOf(isList ? (own.items ?? {}) : own, isList ? `${here}/*` : here),
    ];
  });
}
