import { permissionDenied } from "../api-error.ts";
import type { CollectionName, TokenDocument } from "../documents.ts";
import type { ProxmoxVersion } from "../schema/api-schema.ts";
import type { Store } from "../store.ts";
import { allPrivileges } from "./privileges.ts";

/** Privileges on one path; the value says whether they propagate to what lies below. */
export type PrivilegeMap = Map<string, boolean>;

/** The rights: users, privilege-separated tokens, roles along the path, pools. */
export interface Permissions {
  /** Privileges of "user@realm" or "user@realm!token" on an ACL path. */
  on(authUser: string, path: string): PrivilegeMap;
  has(authUser: string, path: string, privilege: string): boolean;
  /** Throws 403 naming the first missing privilege. */
  require(authUser: string, path: string, ...privileges: string[]): void;
  /** Throws 403 naming them all when none is held. */
  requireAny(authUser: string, path: string, privileges: readonly string[]): void;
  /** Evaluates the permission expression of the API schema. */
  requireExpression(authUser: string, check: readonly unknown[], uri: Record<string, unknown>): void;
  /** The answer of GET /access/permissions. */
  effective(authUser: string): Record<string, Record<string, number>>;
}

const DECIDING: ReadonlySet<CollectionName> = new Set(["acl", "role", "token", "user", "pool"]);

const normalise = (path: string): string => {
  const single = `/${path}`.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  return single === "" ? "/" : single;
};

function prefixes(path: string): string[] {
  if (path === "/") return ["/"];
  const parts = path.split("/").slice(1);
  return ["/", ...parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`)];
}

export function makePermissions(store: Store, version: ProxmoxVersion): Permissions {
  const tokenOf = (authUser: string): TokenDocument | undefined =>
    authUser.includes("!") ? store.get("token", authUser) : undefined;

  // Entries further down the path replace what was inherited, as PVE::AccessControl::roles does.
  const rolesOn = (authUser: string, path: string): Map<string, boolean> => {
    let roles = new Map<string, boolean>();
    const entries = store.all("acl").filter(({ ugid }) => ugid === authUser);
    const steps = prefixes(path);
    for (const [index, step] of steps.entries()) {
      const here = entries.filter((e) => e.path === step && (e.propagate || index === steps.length - 1));
      if (here.length > 0) roles = new Map(here.map(({ roleid, propagate }) => [roleid, propagate]));
    }
    return roles;
  };

  const withPools = (authUser: string, path: string): Map<string, boolean> => {
    const roles = rolesOn(authUser, path);
    if (roles.has("NoAccess")) return roles;
    const vmid = /^\/vms\/(\d+)$/.exec(path)?.[1];
    const storage = /^\/storage\/([^/]+)$/.exec(path)?.[1];
    if (vmid === undefined && storage === undefined) return roles;
    for (const pool of store.all("pool")) {
      const member =
        vmid === undefined ? pool.storages.includes(storage ?? "") : pool.vms.includes(Number(vmid));
      if (!member) continue;
      const fromPool = rolesOn(authUser, `/pool/${pool.poolid}`);
      if (fromPool.has("NoAccess")) return new Map([["NoAccess", false]]);
      for (const role of fromPool.keys()) if (!roles.has(role)) roles.set(role, false);
    }
    return roles;
  };

  const granted = (authUser: string, path: string): PrivilegeMap => {
    const result: PrivilegeMap = new Map();
    for (const [roleid, propagate] of withPools(authUser, path)) {
      for (const privilege of store.get("role", roleid)?.privileges ?? []) {
        result.set(privilege, result.get(privilege) === true || propagate);
      }
    }
    return result;
  };

  // Needed for every VM of every list: cached until a setting that it depends on changes.
  const known = new Map<string, PrivilegeMap>();
  store.onCommit((changes) => {
    if (changes.some(([collection]) => DECIDING.has(collection))) known.clear();
  });
  const on = (authUser: string, rawPath: string): PrivilegeMap => {
    const path = normalise(rawPath);
    const key = `${authUser} ${path}`;
    const held = known.get(key) ?? workOut(authUser, path);
    known.set(key, held);
    return held;
  };

  const workOut = (authUser: string, path: string): PrivilegeMap => {
    if (authUser === "root@pam") return new Map(allPrivileges(version).map((name) => [name, true]));
    if (!authUser.includes("!")) return granted(authUser, path);
    const token = tokenOf(authUser);
    if (token === undefined) return new Map();
    const owner = on(token.userid, path);
    if (!token.privsep) return owner;
    // A separated token never has more than its owner, nor more than its own entries.
    const own = granted(authUser, path);
    return new Map(
      [...own].filter(([name]) => owner.has(name)).map(([name, p]) => [name, p && owner.get(name) === true]),
    );
  };

  const has = (authUser: string, path: string, privilege: string): boolean =>
    on(authUser, path).has(privilege);
  const require = (authUser: string, path: string, ...privileges: string[]): void => {
    const held = on(authUser, path);
    for (const privilege of privileges) {
      if (!held.has(privilege)) throw permissionDenied(`${normalise(path)}, ${privilege}`);
    }
  };
  const requireAny = (authUser: string, path: string, privileges: readonly string[]): void => {
    const held = on(authUser, path);
    if (!privileges.some((privilege) => held.has(privilege))) {
      throw permissionDenied(`${normalise(path)}, ${privileges.join("|")}`);
    }
  };
  const passes = (work: () => void): boolean => {
    try {
      work();
      return true;
    } catch {
      return false;
    }
  };
  const requireExpression = (
    authUser: string,
    check: readonly unknown[],
    uri: Record<string, unknown>,
  ): void => {
    const [test, ...rest] = check;
    if (test === "and") {
      for (const part of rest) requireExpression(authUser, part as unknown[], uri);
    } else if (test === "or") {
      const held = rest.some((part) => passes(() => requireExpression(authUser, part as unknown[], uri)));
      if (!held) throw permissionDenied();
    } else if (test === "perm") {
      const [template, privileges, ...optionList] = rest as [string, string[], ...unknown[]];
      const options = new Map<unknown, unknown>();
      for (let index = 0; index < optionList.length; index += 2)
        options.set(optionList[index], optionList[index + 1]);
      const needed = options.get("require_param");
      if (typeof needed === "string" && (uri[needed] ?? null) === null) throw permissionDenied();
      const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(uri[name] ?? ""));
      if (options.get("any")) requireAny(authUser, path, privileges);
      else require(authUser, path, ...privileges);
    } else if (test === "userid-param") {
      if (uri.userid !== authUser.split("!")[0] || authUser.includes("!")) throw permissionDenied();
    } else if (test === "userid-group") {
      requireAny(authUser, "/access/groups", rest[0] as string[]);
    } else {
      throw new Error(`unknown permission test '${String(test)}'`);
    }
  };
  return {
    on,
    has,
    require,
    requireAny,
    requireExpression,
    effective: (authUser) => {
      const paths = new Set([
        "/",
        "/access",
        "/access/groups",
        "/nodes",
        "/pool",
        "/sdn",
        "/storage",
        "/vms",
      ]);
      for (const { path } of store.all("acl")) paths.add(path);
      for (const pool of store.all("pool")) {
        for (const vmid of pool.vms) paths.add(`/vms/${vmid}`);
        for (const storage of pool.storages) paths.add(`/storage/${storage}`);
      }
      const result: Record<string, Record<string, number>> = {};
      for (const path of [...paths].sort()) {
        const held = on(authUser, path);
        if (held.size > 0) {
          result[path] = Object.fromEntries([...held].sort().map(([name, p]) => [name, p ? 1 : 0]));
        }
      }
      return result;
    },
  };
}
