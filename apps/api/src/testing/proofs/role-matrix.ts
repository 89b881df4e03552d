import { operations } from "@kule/contract/generated/operations";
import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { allPermissions, type Permission, scopeCovers } from "@kule/rules/identity/permissions";
import { allOperations } from "@kule/testing/contract/contract-schema";
import type { Findings } from "./isolation-answers.ts";
import { isPermitted } from "./isolation-matrix.ts";
import { type Actor, actorsOf } from "./matrix-actors.ts";
import { standingPath } from "./matrix-objects.ts";
import { callOperation, type OperationCall } from "./operation-call.ts";
import { ofSessions, personalCall, signIns } from "./person.ts";
import { recipes } from "./recipes.ts";
import { addDomain, addProtectedDomain } from "./tenant-domains.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

/** A sign-in has no caller; it has tests of its own. */
const callable = allOperations().filter((info) => !signIns.has(info.id));

/** Operations that need no permission of a role: none at all, any valid token, or a person's session. */
const ofNoRole: ReadonlySet<string> = new Set(["public", "authenticated", "session"]);

/**
 * Every operation as every actor: those with the permission succeed, all others are refused with its name.
 */
export async function runRoleMatrix(all: TwoOrganisations, actorNames = /./): Promise<Findings> {
  const violations: string[] = [];
  let cases = 0;
  const actors = actorsOf(all).filter(({ name }) => actorNames.test(name));
  for (const info of callable)
    for (const actor of actors) {
      cases += 1;
      const defect = await roleDefect(all, actor, info);
      if (defect !== null) violations.push(`${info.id} as ${actor.name}: ${defect}`);
    }
  return { cases, violations };
}

async function roleDefect(all: TwoOrganisations, actor: Actor, info: OperationInfo): Promise<string | null> {
  const isPublic = info.permission === "public";
  const mayDo = isPublic || (actor.kind !== "nobody" && isPermitted(actor, { operation: info.id }));
  const { status, text } = await callAs(all, actor, info, mayDo);
  const expected = (right: boolean, what: string) =>
    right ? null : `expected ${what}, got ${status} ${text.slice(0, 300)}`;
  if (actor.kind === "nobody" && !isPublic) return expected(status === 401, "401");
  if (!mayDo) {
    if (status !== 403) return expected(false, "403");
    const { required } = JSON.parse(text) as { required?: string[] };
    return expected(required?.join() === info.permission, `403 naming ${info.permission}`);
  }
  if (ofSessions.has(info.id) && actor.name !== "a console session in A")
    return expected(status === 409, "409");
  return expected(status < 300, "a success");
}

/** Calls it correctly, with objects of its own; an operation of sessions gets a session of its own. */
async function callAs(all: TwoOrganisations, actor: Actor, info: OperationInfo, mayDo: boolean) {
  const recipe = recipes[info.id];
  const personal =
    // An actor without the permission makes the call itself, and not through a permitted one.
    mayDo && actor.name === "a console session in A" ? await personalCall(info, actor.side, all.world) : null;
  const caller = personal?.caller ?? actor.caller;
  const path = mayDo ? await recipe.path?.(actor.side, all) : undefined;
  return callOperation(caller, {
    operation: info.id,
    path: path ?? standingPath(info, actor.side, all),
    body: personal?.body ?? (await recipe.body?.(actor.side, all)),
    headers:
      actor.kind === "operator" && info.headerParameters.includes("Kule-Organisation")
        ? { "Kule-Organisation": actor.side.tenant.id }
        : {},
  });
}

/** Uses of an operation that need a permission in addition to the operation's own. */
const usesThatAskMore: readonly {
  readonly operation: OperationId;
  readonly permission: Permission;
  readonly call: (side: Side, all: TwoOrganisations) => Promise<Omit<OperationCall, "operation">>;
}[] = [
  {
    operation: "deleteServer",
    permission: "server:purge",
    call: async (side) => ({
      path: { server_id: await side.tenant.addRunningServer({ subnet_id: side.standing.subnet }) },
      query: { purge: "true" },
    }),
  },
  {
    operation: "deleteDomain",
    permission: "domain:purge",
    call: async (side) => ({
      path: { domain_id: await addDomain(side.tenant) },
      query: { purge: "true" },
    }),
  },
  ...(["delete", "rebuild"] as const).map((what) => ({
    operation: "updateServer" as const,
    permission: "server:unprotect" as const,
    call: async (side: Side) => ({
      path: {
        server_id: (
          await side.tenant.addServer({ subnet_id: side.standing.subnet, protection: { [what]: true } })
        ).id,
      },
      body: { protection: { [what]: false } },
    }),
  })),
  {
    operation: "updateDomain",
    permission: "domain:unprotect",
    call: async (side) => ({
      path: { domain_id: await addProtectedDomain(side.tenant) },
      body: { protection: { delete: false } },
    }),
  },
  {
    operation: "updatePublicIp",
    permission: "public_ip:unprotect",
    call: async (side) => ({
      path: { public_ip_id: await side.tenant.addPublicIp({ protection: { delete: true } }) },
      body: { protection: { delete: false } },
    }),
  },
];
const askedInside: ReadonlySet<string> = new Set(usesThatAskMore.map(({ permission }) => permission));

/**
 * The same for those: an actor with only the operation's permission is refused with the name of the other
 * one.
 */
export async function runAskedInside(all: TwoOrganisations, actorNames = /./): Promise<Findings> {
  const violations: string[] = [];
  let cases = 0;
  const actors = actorsOf(all).filter(({ name, kind }) => kind !== "nobody" && actorNames.test(name));
  for (const { operation, permission, call } of usesThatAskMore)
    for (const actor of actors) {
      if (actor.side === all.b) continue;
      cases += 1;
      const headers =
        actor.kind === "operator" ? { headers: { "Kule-Organisation": actor.side.tenant.id } } : {};
      const { status, text } = await callOperation(actor.caller, {
        operation,
        ...(await call(actor.side, all)),
        ...headers,
      });
      const missing = [operations[operation].permission, permission].find(
        (each) => !actor.permissions.has(each),
      );
      const named = status === 403 ? (JSON.parse(text) as { required?: string[] }).required?.join() : null;
      if (missing === undefined ? status >= 300 : named !== missing)
        violations.push(
          `${operation} as ${actor.name}: expected ${missing === undefined ? "a success" : `403 naming ${missing}`}, ` +
            `got ${status} ${text.slice(0, 300)}`,
        );
    }
  return { cases, violations };
}

/**
 * What must hold for every version of the table of permissions: read-only roles change nothing, agents and
 * people have no permission in common, operators' permissions belong to operators only, and every permission
 * is used.
 */
export function permissionTableFindings(all: TwoOrganisations): Findings {
  const violations: string[] = [];
  let cases = 0;
  const expect = (holds: boolean, sentence: string) => {
    cases += 1;
    if (!holds) violations.push(sentence);
  };
  for (const info of callable)
    for (const actor of actorsOf(all)) {
      if (ofNoRole.has(info.permission)) continue;
      const may = isPermitted(actor, { operation: info.id });
      if (info.audit !== null && /^(viewer|billing)/.test(actor.name))
        expect(!may, `${actor.name} may change something by ${info.id}`);
      if (/^member/.test(actor.name) && /member:manage|token:/.test(info.permission))
        expect(!may, `${actor.name} may manage who has access by ${info.id}`);
      if (actor.kind === "agent" || info.tag === "agent")
        expect(
          may === (actor.kind === "agent" && info.tag === "agent"),
          `${info.id} and ${actor.name}: ${may}`,
        );
      if (info.permission.startsWith("operator:"))
        expect(may === (actor.kind === "operator"), `${info.id} is open to ${actor.name}`);
    }
  const asked = new Set(callable.map((info) => info.permission));
  const known: readonly string[] = allPermissions();
  for (const permission of asked)
    if (!ofNoRole.has(permission))
      expect(known.includes(permission), `nobody has the permission ${permission}`);
  for (const permission of known)
    expect(asked.has(permission) || askedInside.has(permission), `${permission} opens no operation`);
  return { cases, violations };
}

export const scopes = ["server:read", "*:read", "network:*", "ssh_key:create"] as const;

/** A token of that scope can do so much of its role and no more. */
export async function scopedTokenFindings(
  all: TwoOrganisations,
  scope: (typeof scopes)[number],
): Promise<Findings> {
  const caller = await all.world.addToken(all.a.tenant.id, "owner", [scope]);
  const owner = actorsOf(all).find((actor) => actor.name === "owner of A");
  if (owner === undefined) throw new Error("no owner");
  const violations: string[] = [];
  let cases = 0;
  for (const info of callable) {
    if (ofNoRole.has(info.permission)) continue;
    const mayDo = owner.permissions.has(info.permission) && scopeCovers(scope, info.permission);
    const { status } = await callAs(all, { ...owner, caller }, operations[info.id], mayDo);
    cases += 1;
    if (mayDo ? status >= 300 : status !== 403)
      violations.push(`${info.id} with the scope ${scope} answered ${status}`);
  }
  return { cases, violations };
}
