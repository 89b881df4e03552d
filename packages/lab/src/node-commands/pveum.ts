// `pveum` as root types it on a node: roles, users, tokens and access control lists, which have no calls in the lab. Only
// what is written out here is known, by its full name, so that a manual's command is either right or refused.

import { parseArgs } from "node:util";
import { allPrivileges } from "../access/privileges.ts";
import type { AclDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import { systemSecrets } from "../runtime.ts";
import type { DocumentChange } from "../store.ts";

/** The error of a command, as it would be printed. */
export class CommandFailed extends Error {}

const ROOT = "root@pam";
const USER = /^[^\s:/]+@[A-Za-z][A-Za-z0-9._-]+$/;
const TOKEN_NAME = /^[A-Za-z][A-Za-z0-9._-]+$/;
/** As in PVE::AccessControl::check_path, for the paths that the lab has. */
const ACL_PATH =
  /^\/(|access|nodes(\/[\w-]+)?|pool(\/[\w./-]+)?|sdn(\/zones(\/[\w-]+(\/[\w.-]+(\/\d{1,4})?)?)?)?|storage(\/[\w.-]+)?|vms(\/[1-9]\d{2,8})?)$/;

type Given = Readonly<Record<string, string | undefined>>;
type Command = {
  readonly positionals: readonly string[];
  readonly options: readonly string[];
  readonly run: (region: Region, given: Given) => string;
};

const COMMANDS: Readonly<Record<string, Command>> = {
  "role add": { positionals: ["roleid"], options: ["privs"], run: addRole },
  "role modify": { positionals: ["roleid"], options: ["privs"], run: modifyRole },
  "user add": { positionals: ["userid"], options: ["comment"], run: addUser },
  "user token add": {
    positionals: ["userid", "tokenid"],
    options: ["privsep", "comment", "output-format"],
    run: addToken,
  },
  "pool modify": { positionals: ["poolid"], options: ["vms", "comment"], run: modifyPool },
  "acl modify": { positionals: ["path"], options: ["roles", "users", "tokens", "propagate"], run: allow },
  "acl delete": { positionals: ["path"], options: ["roles", "users", "tokens"], run: disallow },
};

/** Runs `pveum <args>`; answers what it prints. Throws {@link CommandFailed}. */
export function pveum(region: Region, args: readonly string[]): string {
  for (const [words, command] of Object.entries(COMMANDS)) {
    const count = words.split(" ").length;
    if (args.slice(0, count).join(" ") === words)
      return command.run(region, given(words, command, args.slice(count)));
  }
  throw new CommandFailed(`ERROR: unknown command 'pveum ${args.join(" ")}'`);
}

function given(words: string, { positionals, options }: Command, args: readonly string[]): Given {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(options.map((name) => [name, { type: "string" as const }])),
    });
  } catch (error) {
    throw new CommandFailed(
      `${error instanceof Error ? error.message : String(error)}\n400 unable to parse option`,
    );
  }
  if (parsed.positionals.length !== positionals.length)
    throw new CommandFailed(
      `400 not enough or too many arguments\npveum ${words} <${positionals.join("> <")}>`,
    );
  return {
    ...(parsed.values as Given),
    ...Object.fromEntries(positionals.map((name, index) => [name, parsed.positionals[index]])),
  };
}

const list = (text: string | undefined): string[] =>
  (text ?? "").split(/[\s,;]+/).filter((each) => each !== "");

function privilegesIn(region: Region, text: string | undefined): string[] {
  const known = new Set(allPrivileges(region.version));
  const privileges = list(text);
  for (const each of privileges)
    if (!known.has(each))
      throw new CommandFailed(`400 Parameter verification failed.\nprivs: invalid privilege '${each}'`);
  return privileges;
}

function commit(region: Region, words: string, changes: DocumentChange[]): void {
  region.store.commit({ op: `pveum-${words.replaceAll(" ", "-")}`, user: ROOT }, changes);
}

function addRole(region: Region, { roleid = "", privs }: Given): string {
  if (region.store.get("role", roleid) !== undefined)
    throw new CommandFailed(`create role failed: role '${roleid}' already exists`);
  const privileges = privilegesIn(region, privs);
  commit(region, "role add", [["role", roleid, { roleid, privileges, special: false }]]);
  return "";
}

function modifyRole(region: Region, { roleid = "", privs }: Given): string {
  const role = region.store.get("role", roleid);
  if (role === undefined) throw new CommandFailed(`modify role failed: role '${roleid}' does not exist`);
  commit(region, "role modify", [["role", roleid, { ...role, privileges: privilegesIn(region, privs) }]]);
  return "";
}

function addUser(region: Region, { userid = "" }: Given): string {
  if (!USER.test(userid))
    throw new CommandFailed(
      `400 Parameter verification failed.\nuserid: value '${userid}' does not look like a valid user name`,
    );
  if (region.store.get("user", userid) !== undefined)
    throw new CommandFailed(`create user failed: user '${userid}' already exists`);
  commit(region, "user add", [["user", userid, { userid, enable: true, expire: 0 }]]);
  return "";
}

function addToken(
  region: Region,
  { userid = "", tokenid: name = "", privsep = "1", ...more }: Given,
): string {
  const tokenid = `${userid}!${name}`;
  if (region.store.get("user", userid) === undefined)
    throw new CommandFailed(`user '${userid}' does not exist`);
  if (!TOKEN_NAME.test(name) || !["0", "1"].includes(privsep))
    throw new CommandFailed("400 Parameter verification failed.");
  if (region.store.get("token", tokenid) !== undefined)
    throw new CommandFailed(`400 Parameter verification failed.\ntokenid: Token already exists.`);
  const secret = systemSecrets.token();
  commit(region, "user token add", [
    ["token", tokenid, { tokenid, userid, privsep: privsep === "1", expire: 0, secret }],
  ]);
  if (more["output-format"] === "json")
    return JSON.stringify({ "full-tokenid": tokenid, info: { privsep }, value: secret });
  const rows = [
    ["key", "value"],
    ["full-tokenid", tokenid],
    ["info", JSON.stringify({ privsep })],
    ["value", secret],
  ];
  return rows.map(([key = "", value]) => `│ ${key.padEnd(12)} │ ${value}`).join("\n");
}

function modifyPool(region: Region, { poolid = "", vms }: Given): string {
  const pool = region.store.get("pool", poolid);
  if (pool === undefined) throw new CommandFailed(`update pools failed: pool '${poolid}' does not exist`);
  const joining = list(vms).map(Number);
  for (const vmid of joining) {
    const other = region.store.all("pool").find((each) => each.vms.includes(vmid));
    if (other !== undefined)
      throw new CommandFailed(`update pools failed: VM ${vmid} belongs already to pool '${other.poolid}'`);
  }
  commit(region, "pool modify", [["pool", poolid, { ...pool, vms: [...pool.vms, ...joining] }]]);
  return "";
}

/** The entries that a command names: each path, user and role. */
function entries(region: Region, { path = "", roles, users, tokens, propagate = "1" }: Given): AclDocument[] {
  if (!ACL_PATH.test(path))
    throw new CommandFailed(`400 Parameter verification failed.\npath: invalid ACL path '${path}'`);
  if (!["0", "1"].includes(propagate))
    throw new CommandFailed("400 Parameter verification failed.\npropagate: type check ('boolean') failed");
  const who = [
    ...list(users).map((ugid) => ({ type: "user" as const, ugid })),
    ...list(tokens).map((ugid) => ({ type: "token" as const, ugid })),
  ];
  if (list(roles).length === 0 || who.length === 0)
    throw new CommandFailed(
      "400 Parameter verification failed.\nroles, and users or tokens: property is missing",
    );
  for (const roleid of list(roles))
    if (region.store.get("role", roleid) === undefined)
      throw new CommandFailed(`role '${roleid}' does not exist`);
  for (const { type, ugid } of who)
    if (region.store.get(type, ugid) === undefined)
      throw new CommandFailed(`${type} '${ugid}' does not exist`);
  return who.flatMap(({ type, ugid }) =>
    list(roles).map((roleid) => ({ path, type, ugid, roleid, propagate: propagate === "1" })),
  );
}

const keyOf = ({ path, ugid, roleid }: AclDocument): string => `${path} ${ugid} ${roleid}`;

function allow(region: Region, options: Given): string {
  commit(
    region,
    "acl modify",
    entries(region, options).map((entry): DocumentChange => ["acl", keyOf(entry), entry]),
  );
  return "";
}

function disallow(region: Region, options: Given): string {
  commit(
    region,
    "acl delete",
    entries(region, options).map((entry): DocumentChange => ["acl", keyOf(entry), null]),
  );
  return "";
}
