import { operations } from "@kule/contract/generated/operations";
import type { OperationInfo } from "@kule/contract/schemas";
import type { ReferencePlace } from "@kule/testing/contract/reference-places";
import { rolledOut } from "../rollouts.ts";
import type { Actor } from "./matrix-actors.ts";
import { standingRecord } from "./tenant-domains.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

/** The object that a request names in a parameter. */
export type ObjectState = {
  readonly name: string;
  readonly id: string;
  /** The network to go with a subnet, when it is not one's own. */
  readonly network?: string;
};

const malformed: readonly (readonly [name: string, id: string])[] = [
  ["with a way out", "srv_../.."],
  ["very long", "x".repeat(1000)],
  ["not ASCII", "kule-ışık-🗼"],
  ["with a NUL", "key_\0"],
  ["of another kind", "aud_01hzzzzzzzzzzzzzzzzzzzzzzz"],
];

/** Every object that this actor could name in this parameter. */
export function objectStates(place: ReferencePlace, actor: Actor, all: TwoOrganisations): ObjectState[] {
  const states: ObjectState[] = [];
  const add = (name: string, id: string | undefined, network?: string) => {
    if (id !== undefined) states.push({ name, id, ...(network === undefined ? {} : { network }) });
  };
  add("own", ownObject(place, actor.side, all));
  for (const [name, id] of foreignObjects(place, actor, all)) add(name, id);
  if (place.kind === "subnet" && place.where === "path")
    add("foreign with its network", actor.other.standing.subnet, actor.other.standing.network);
  add("removed", removedObject(place, actor.side));
  if (actor.kind !== "nobody") for (const [name, id] of malformed) add(`malformed: ${name}`, id);
  else add("malformed", malformed[0]?.[1]);
  return states;
}

/** Own objects for every part of the path; none of them is changed by calls that are refused. */
export function standingPath(info: OperationInfo, side: Side, all: TwoOrganisations): Record<string, string> {
  return Object.fromEntries(
    info.pathParameters.map((name) => {
      if (name === "region") return [name, "r1"];
      if (name === "token_id" && info.path.startsWith("/regions/")) return [name, all.agentTokens.r1];
      if (name === "range_id") return [name, side.standing.ip_pool_range];
      if (name === "session_id") return [name, side.standing.console_session];
      if (name === "record_name") return [name, standingRecord.name];
      if (name === "record_type") return [name, standingRecord.type];
      if (name === "version") return [name, rolledOut];
      if (name === "architecture") return [name, "x64"];
      if (name === "address") return [name, side.standing.ip_pool_address];
      return [name, standingOf(name.replace(/_id$/, ""), side) ?? ""];
    }),
  );
}

function ownObject(place: ReferencePlace, side: Side, all: TwoOrganisations): string {
  switch (place.kind) {
    case "agent_token":
      return all.agentTokens.r1;
    case "region":
      return place.where === "path" ? "r1" : side.tenant.region.slug;
    case "resource":
      return side.standing.server;
    case "cursor":
      return all.cursors.get(`${place.operation} ${side.tenant.id}`) ?? "no cursor";
    default:
      return standingOf(place.kind, side) ?? "";
  }
}

function foreignObjects(place: ReferencePlace, actor: Actor, all: TwoOrganisations): [string, string][] {
  const { other } = actor;
  const isOperators = operations[place.operation].permission.startsWith("operator:");
  switch (place.kind) {
    case "agent_token":
      return [
        ["foreign", all.agentTokens.r2],
        ["foreign: an organisation's", actor.side.standing.token],
      ];
    case "organisation":
      // To operators no organisation is foreign.
      return isOperators || actor.kind === "operator" ? [] : [["foreign", other.tenant.id]];
    case "region":
      return isOperators ? [] : [["foreign", other.standing.region]];
    case "resource":
      return (["server", "job", "network", "subnet", "ssh_key"] as const).map((kind) => [
        `foreign: ${kind}`,
        other.standing[kind],
      ]);
    case "cursor":
      return isOperators
        ? []
        : [["foreign", all.cursors.get(`${place.operation} ${other.tenant.id}`) ?? "no cursor"]];
    case "ip_pool":
    case "ip_pool_range":
    case "ip_pool_address":
    case "agent_rollout":
      // Pools and rollouts are the operators', all of them.
      return [];
    case "token":
      return [
        ["foreign", other.standing.token],
        ["foreign: an agent's", all.agentTokens.r1],
      ];
    default:
      return [["foreign", standingOf(place.kind, other) ?? ""]];
  }
}

function removedObject(place: ReferencePlace, side: Side): string | undefined {
  // A revoked token is still shown, with the time of its end.
  if (place.kind === "token" || place.kind === "agent_token") return undefined;
  return (side.removed as { readonly [kind: string]: string })[place.kind];
}

function standingOf(kind: string, side: Side): string | undefined {
  return (side.standing as { readonly [kind: string]: string })[kind];
}
