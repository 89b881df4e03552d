// Whether the token may do what its calls need, and nothing beyond it: by the table of calls, path by path.

import type { ProxmoxClient } from "./client.ts";
import {
  agentGrants,
  agentRoles,
  type Grant,
  type GrantedRegion,
  grantCommands,
  privilegesOn,
  roleCommand,
} from "./driver-calls/grants.ts";
import { type Finding, failed, passed } from "./finding.ts";
import { readBoolean } from "./lenient.ts";

type Held = Readonly<Record<string, unknown>>;

/** Findings about more than this many paths are reported as one. */
const PATHS_LISTED = 8;

/** The token's privileges on one path. */
export async function privilegesHeld(client: ProxmoxClient, path: string): Promise<Held> {
  const answer = await client.call("GET /access/permissions", { path });
  return (answer[path] ?? {}) as Held;
}

export async function checkPrivileges(
  client: ProxmoxClient,
  region: GrantedRegion,
  majorVersion: number,
): Promise<Finding[]> {
  const roles = agentRoles(majorVersion);
  // Privileges on / are reported by the two checks that need them.
  const grants = agentGrants(region).filter(({ path }) => path !== "/");
  return Promise.all(
    grants.map(async (grant) => {
      const { path, role } = grant;
      const check = `privileges on ${path}`;
      const held = await privilegesHeld(client, path);
      const missing = roles[role].filter((privilege) => !(privilege in held));
      if (missing.length > 0)
        return failed(
          check,
          `missing: ${missing.join(", ")}`,
          wayOut(grant, client.tokenId, majorVersion, missing.length === roles[role].length),
        );
      const ending = roles[role].filter((privilege) => !readBoolean(held[privilege] as number));
      // A template has nothing below it, and what is granted on a pool reaches a guest as it is.
      if (ending.length > 0 && !path.startsWith("/vms/"))
        return failed(
          check,
          `not propagated: ${ending.join(", ")}`,
          grantCommands({ ...grant, propagate: true }, client.tokenId),
        );
      return passed(check, "complete");
    }),
  );
}

/** The exact commands. A separated token has only what its user has too, so each grant is needed twice. */
function wayOut(grant: Grant, tokenId: string, majorVersion: number, isAll: boolean): string {
  return isAll
    ? `${grantCommands(grant, tokenId)} (the role, if there is none: ${roleCommand(grant.role, majorVersion)})`
    : roleCommand(grant.role, majorVersion, "modify");
}

/** A token that may do more than the driver does is worth more to a thief. */
export async function checkExcess(
  client: ProxmoxClient,
  { storages, bridges, templates }: GrantedRegion,
  majorVersion: number,
): Promise<Finding[]> {
  const check = "privileges beyond what is needed";
  const all = (await client.call("GET /access/permissions", {})) as Readonly<Record<string, Held>>;
  const neededOn = (path: string): readonly string[] => {
    const on = (...scopes: Parameters<typeof privilegesOn>[0]) => privilegesOn(scopes, majorVersion);
    const [, kind = "", name = "", ...deeper] = path.split("/");
    if (path === "/") return on("cluster");
    if (kind === "nodes") return on("node");
    if (kind === "pool") return on("guest", "pool");
    // A guest has its pool's role, or one of its own where it is to be adopted.
    if (kind === "vms" && name !== "")
      return templates.includes(Number(name)) ? on("template") : on("guest", "pool");
    if (kind === "storage" && storages.includes(name)) return on("storage");
    if (
      kind === "sdn" &&
      name === "zones" &&
      deeper[0] === "localnetwork" &&
      bridges.includes(deeper[1] ?? "")
    )
      return on("bridge");
    return [];
  };
  const tooMuch = Object.entries(all).flatMap(([path, held]) => {
    const needed = new Set(neededOn(path));
    const more = Object.keys(held ?? {}).filter((privilege) => !needed.has(privilege));
    return more.length === 0 ? [] : [{ path, more: more.sort() }];
  });
  if (tooMuch.length === 0) return [{ ...passed(check, "none"), severity: "advised" }];
  const told = tooMuch.slice(0, PATHS_LISTED).map(({ path, more }) => {
    const fix =
      path === "/vms"
        ? `It reaches every VM of the cluster, templates too. Grant the role on /pool instead: ${deleteCommand(client.tokenId, path)}`
        : `Take them out of the role, or the role from the path: ${deleteCommand(client.tokenId, path)}`;
    return failed(check, `on ${path}: ${more.join(", ")}`, fix, "advised");
  });
  const others = tooMuch.length - told.length;
  return others === 0
    ? told
    : [
        ...told,
        failed(
          check,
          `on ${others} more paths`,
          `pveum user token permissions ${words(client.tokenId)}`,
          "advised",
        ),
      ];
}

const words = (tokenId: string): string => tokenId.replace("!", " ");

/** It is enough to revoke it for the token: a separated one has only what both have. */
function deleteCommand(tokenId: string, path: string): string {
  return `pveum acl delete ${path} --tokens '${tokenId}' --roles <role>`;
}

/** A role on /pool reaches the guests of every pool; those that are not ours can be kept out of it. */
export async function checkForeignPools(client: ProxmoxClient, poolPrefix: string): Promise<Finding[]> {
  const check = "pools of others";
  const foreign = (await client.call("GET /pools", {}))
    .map(({ poolid }) => poolid)
    .filter((pool) => !pool.startsWith(`${poolPrefix}-`))
    .sort();
  if (foreign.length === 0) return [{ ...passed(check, "none is in reach"), severity: "advised" }];
  const shown = foreign.slice(0, PATHS_LISTED);
  return [
    failed(
      check,
      `in reach: ${shown.join(", ")}${foreign.length > shown.length ? ` and ${foreign.length - shown.length} more` : ""}`,
      shown
        .map((pool) => `pveum acl modify /pool/${pool} --tokens '${client.tokenId}' --roles NoAccess`)
        .join(" && "),
      "advised",
    ),
  ];
}
