// The grants of a region's token: generated from the table of calls, and from nothing else.

import type { Need, Privilege, Scope } from "./call-facts.ts";
import { DRIVER_CALLS } from "./driver-calls.ts";

/** The scopes that each role is for. A guest is reached through its pool. */
const ROLE_SCOPES = {
  CloudAgent: ["guest", "pool"],
  CloudTemplate: ["template"],
  CloudStore: ["storage"],
  CloudNet: ["bridge"],
  CloudNode: ["node", "cluster"],
} as const satisfies Readonly<Record<string, readonly Scope[]>>;

export type RoleName = keyof typeof ROLE_SCOPES;

/** A role on a path. Without propagation it has no effect below that path. */
export type Grant = { readonly path: string; readonly role: RoleName; readonly propagate: boolean };

/** The parts of a region that grants are for. */
export type GrantedRegion = {
  readonly storages: readonly string[];
  readonly bridges: readonly string[];
  readonly templates: readonly number[];
};

/** Privileges that Proxmox VE 9 has in the place of one of 8. */
const NAMES_IN_8: Readonly<Partial<Record<Privilege, string>>> = {
  "VM.GuestAgent.Unrestricted": "VM.Monitor",
};

/** Every need of every call, by its parameters too. */
export function allNeeds(): Need[] {
  return Object.values(DRIVER_CALLS).flatMap(({ needs, parameters }) => [
    ...needs,
    ...Object.values(parameters).flatMap((parameter) => parameter.needs),
  ]);
}

/** The privileges that a token is to have on paths of these scopes, by the names of this version. */
export function privilegesOn(scopes: readonly Scope[], majorVersion: number): string[] {
  const needed = allNeeds().filter((need) => scopes.includes(need.on) && need.for !== "withheld");
  return [...new Set(needed.map(({ privilege }) => nameIn(majorVersion, privilege)))].sort();
}

function nameIn(majorVersion: number, privilege: Privilege): string {
  return majorVersion >= 9 ? privilege : (NAMES_IN_8[privilege] ?? privilege);
}

/** The roles by their names. */
export function agentRoles(majorVersion: number): Record<RoleName, string[]> {
  return Object.fromEntries(
    Object.entries(ROLE_SCOPES).map(([role, scopes]) => [role, privilegesOn(scopes, majorVersion)]),
  ) as Record<RoleName, string[]>;
}

export const bridgePath = (bridge: string): string => `/sdn/zones/localnetwork/${bridge}`;
export const templatePath = (vmid: number): string => `/vms/${vmid}`;
export const storagePath = (storage: string): string => `/storage/${storage}`;

/**
 * The narrowest grants that every job but an adoption works with. Servers are reached through the pools that
 * they are created in, so that guests outside a pool, and the templates, are out of reach.
 */
export function agentGrants({ storages, bridges, templates }: GrantedRegion): Grant[] {
  const grant =
    (role: RoleName) =>
    (path: string): Grant => ({ path, role, propagate: path !== "/" });
  return [
    grant("CloudAgent")("/pool"),
    ...templates.map(templatePath).map(grant("CloudTemplate")),
    ...storages.map(storagePath).map(grant("CloudStore")),
    // Its VLANs are paths below the bridge's.
    ...bridges.map(bridgePath).map(grant("CloudNet")),
    grant("CloudNode")("/nodes"),
    // For the range of free VM numbers and the state of the cluster's firewall, and for nothing below.
    grant("CloudNode")("/"),
  ];
}

/** The command that makes a grant, for a user ("cloud@pve") or a token ("cloud@pve!agent"). */
export function grantCommand({ path, role, propagate }: Grant, who: string): string {
  const whom = who.includes("!") ? `--tokens '${who}'` : `--users ${who}`;
  return `pveum acl modify ${path} ${whom} --roles ${role}${propagate ? "" : " --propagate 0"}`;
}

/** The commands that make a grant for a token: a separated token has only what its user has too. */
export function grantCommands(grant: Grant, tokenId: string): string {
  const [user = ""] = tokenId.split("!");
  return `${grantCommand(grant, user)} && ${grantCommand(grant, tokenId)}`;
}

/** The command that creates a role, or adds the privileges that an existing one lacks. */
export function roleCommand(role: RoleName, majorVersion: number, does: "add" | "modify" = "add"): string {
  return `pveum role ${does} ${role} --privs "${agentRoles(majorVersion)[role].join(" ")}"`;
}
