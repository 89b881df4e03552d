import type { OperationId } from "@kule/contract/schemas";
import { organisationRoles } from "@kule/rules/identity/permissions";
import { allOperations } from "@kule/testing/contract/contract-schema";
import { newId } from "../../platform/ids.ts";
import { insertUser } from "../../products/account/index.ts";
import { insertMember } from "../../products/members/index.ts";
import { issueToken } from "../../products/tokens/index.ts";
import { type Answer, ApiCaller } from "../api-caller.ts";
import { type ApiWorld, firstOperatorToken, type TestOrganisation } from "../api-world.ts";
import type { Findings } from "./isolation-answers.ts";

type Role = (typeof organisationRoles)[number];

/** What is granted, or revoked. */
type Wanted = { readonly role: Role; readonly scopes: readonly string[] };

type Grants = { readonly world: ApiWorld; readonly organisation: TestOrganisation };

type GrantingOperation = {
  readonly operation: OperationId;
  /** Whether it issues tokens, which have scopes. */
  readonly hasScopes: boolean;
  /** Creates what the call needs, and the call. */
  readonly call: (grants: Grants, caller: ApiCaller, wanted: Wanted) => Promise<Answer>;
};

const granting: readonly GrantingOperation[] = [
  {
    operation: "createInvitation",
    hasScopes: false,
    call: async (_grants, caller, { role }) => caller.post("/invitations", { email: newEmail(), role }),
  },
  {
    operation: "updateMember",
    hasScopes: false,
    call: async (grants, caller, { role }) =>
      caller.patch(`/members/${await addMember(grants, "billing")}`, { role }),
  },
  {
    operation: "updateMember",
    hasScopes: false,
    call: async (grants, caller, { role }) =>
      caller.patch(`/members/${await addMember(grants, role)}`, { role: "billing" }),
  },
  {
    operation: "removeMember",
    hasScopes: false,
    call: async (grants, caller, { role }) => caller.delete(`/members/${await addMember(grants, role)}`),
  },
  {
    operation: "createToken",
    hasScopes: true,
    call: (_grants, caller, { role, scopes }) =>
      caller.post("/tokens", { name: "token", role, reason, ...(scopes.length === 0 ? {} : { scopes }) }),
  },
  {
    operation: "rotateToken",
    hasScopes: true,
    call: async ({ world, organisation }, caller, { role, scopes }) =>
      caller.post(`/tokens/${(await mint(world, organisation, role, scopes)).id}/rotate`, { reason }),
  },
];

/** Operators have to give a reason. */
const reason = "the matrix of grants";

/** They need the same permissions, but revoke access and grant none. */
const givingNothing: ReadonlySet<OperationId> = new Set(["revokeInvitation", "revokeToken"]);

const scopeLists = {
  full: [
    [],
    ["member:*"],
    ["member:manage"],
    ["token:*"],
    ["*:manage"],
    ["*:read", "*:manage"],
    ["*:read", "*:manage", "usage:*", "server:*"],
    ["server:*", "member:manage", "token:manage"],
    ["*:*"],
  ],
  sample: [[], ["member:manage"], ["*:read", "*:manage"], ["*:*"]],
} as const;
/** Each covers something that every role may. */
const wantedScopes = [[], ["catalog:read"], ["*:read"]] as const;

/**
 * Every operation that grants access, with tokens of every role and many scopes: it is refused exactly when
 * the role is above the caller's, or when the grant has a permission that the caller lacks. Permissions are
 * read from `GET /me`.
 */
export async function grantFindings(
  world: ApiWorld,
  organisation: TestOrganisation,
  scale: keyof typeof scopeLists,
): Promise<Findings> {
  const grants = { world, organisation };
  const violations = unlisted();
  let cases = 0;
  const permissions = new Map<string, Promise<ReadonlySet<string>>>();
  const permissionsOf = (role: Role, scopes: readonly string[]) => {
    const key = `${role} ${scopes}`;
    const known = permissions.get(key);
    if (known !== undefined) return known;
    const asked = mint(world, organisation, role, scopes).then(({ caller }) => permissionsNow(caller));
    permissions.set(key, asked);
    return asked;
  };
  // An owner who stays, so that no case is refused for the last one.
  await addMember(grants, "owner");

  for (const granter of [...organisationRoles, "operator"] as const)
    for (const scopes of scopeLists[scale]) {
      // A caller who manages no members is refused whatever their scopes.
      if (["billing", "viewer", "member"].includes(granter) && scopes.length > 0) continue;
      const caller =
        granter === "operator"
          ? await operatorCaller(world, organisation, scopes)
          : (await mint(world, organisation, granter, scopes)).caller;
      const may = await permissionsNow(caller);
      // Operators grant people of an organisation what they may not do themselves, as far as their scopes
      // reach.
      const own = granter === "operator" ? new Set([...may, ...(await permissionsOf("owner", scopes))]) : may;
      const highest = granter === "operator" ? "owner" : granter;
      for (const { operation, hasScopes, call } of granting)
        for (const role of organisationRoles)
          for (const asked of hasScopes ? wantedScopes : [[]]) {
            const given = await permissionsOf(role, asked);
            const isWithin =
              may.has(permissionOf(operation)) &&
              organisationRoles.indexOf(role) <= organisationRoles.indexOf(highest) &&
              [...given].every((permission) => own.has(permission));
            const { status } = await call(grants, caller, { role, scopes: asked });
            cases += 1;
            if (isWithin ? status >= 300 : status !== 403)
              violations.push(
                `${operation} of ${role} [${asked}] by ${granter} [${scopes}] answered ${status}, which is ` +
                  `${isWithin ? "within" : "beyond"} what the caller may`,
              );
          }
    }
  return { cases, violations };
}

/** Operations that could grant access and are not tried here. */
function unlisted(): string[] {
  const listed = new Set(granting.map(({ operation }) => operation));
  return allOperations()
    .filter(({ audit, permission }) => audit !== null && /^(member|token):manage$/.test(permission))
    .filter(({ id }) => !listed.has(id) && !givingNothing.has(id))
    .map(({ id }) => `${id} may hand on access and has no case`);
}

function permissionOf(operation: OperationId): string {
  return allOperations().find(({ id }) => id === operation)?.permission ?? "";
}

async function permissionsNow(caller: ApiCaller): Promise<ReadonlySet<string>> {
  return new Set((await caller.get("/me")).body.permissions as string[]);
}

async function mint(
  { replica, app }: ApiWorld,
  organisation: TestOrganisation,
  role: Role,
  scopes: readonly string[],
): Promise<{ id: string; caller: ApiCaller }> {
  const { row, secret } = await issueToken(replica.deps.db, {
    kind: "organisation",
    name: "of the matrix",
    organisationId: organisation.id,
    role,
    scopes,
    lifetimeSeconds: 3600,
  });
  return { id: row.id, caller: new ApiCaller(app, secret) };
}

async function operatorCaller(
  { database, app }: ApiWorld,
  organisation: TestOrganisation,
  scopes: readonly string[],
): Promise<ApiCaller> {
  const secret = await firstOperatorToken(database.ownerUrl, scopes);
  return new ApiCaller(app, secret, { "Kule-Organisation": organisation.id });
}

/** Past the invitations, which cost a hash each. */
async function addMember({ world, organisation }: Grants, role: Role): Promise<string> {
  const { db } = world.replica.deps;
  const id = newId("mem");
  const user = await insertUser(db, {
    id: newId("usr"),
    email: newEmail(),
    name: "Somebody",
    password_hash: null,
  });
  if (user === null) throw new Error("an e-mail was made twice");
  await insertMember(db, { id, organisation_id: organisation.id, user_id: user.id, role });
  return id;
}

const newEmail = () => `${newId("usr")}@example.org`;
