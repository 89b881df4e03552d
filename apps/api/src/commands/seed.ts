import { readFile } from "node:fs/promises";
import { stdout } from "node:process";
import { parseArgs } from "node:util";
import type { SystemAuditAction } from "@kule/contract/system-audit";
import { sql } from "kysely";
import { findCaller } from "../platform/caller.ts";
import { type Database, openDatabase, systemQuery, type Tx } from "../platform/database.ts";
import { newId } from "../platform/ids.ts";
import { generatePassword, hashPassword } from "../platform/passwords.ts";
import { BadSettings } from "../platform/settings.ts";
import { parseToken, sameHash, type TokenKind } from "../platform/tokens.ts";
import { inTransaction } from "../platform/transaction.ts";
import { findUserByEmail, insertUser, passwordProof } from "../products/account/index.ts";
import { insertMember, listMemberships } from "../products/members/index.ts";
import { findOrganisationBySlug, insertOrganisation } from "../products/organisations/index.ts";
import { addRegion, findRegion } from "../products/regions/index.ts";
import { issueToken } from "../products/tokens/index.ts";

/** What `seed` prints, as one line of JSON. */
export type Seeded = {
  readonly organisation_id: string;
  readonly region: string;
  readonly operator_token: string;
  readonly organisation_token: string;
  readonly agent_token: string;
  readonly users: { readonly operator: Login; readonly organisation: Login };
};

type Login = { readonly email: string; readonly password: string };

const operatorEmail = "operator@kule.example";
const ownerEmail = "owner@demo.example";
const tokenName = "seed";

/**
 * Creates an operator, an organisation `demo` with an owner, and a region, where they do not exist, and
 * prints their secrets. Tokens and passwords are stored as hashes, so a second run creates new ones and ends
 * the old ones, unless `--keep` names a file with valid ones.
 */
export async function seedCommand(
  environment: Readonly<Record<string, string | undefined>>,
  options: readonly string[],
): Promise<void> {
  const url = environment.KULE_OWNER_DATABASE_URL;
  if (url === undefined || url === "")
    throw new BadSettings("KULE_OWNER_DATABASE_URL is not set: only the owner of the tables makes operators");
  const { values } = parseArgs({
    args: [...options],
    options: {
      keep: { type: "string" },
      organisation: { type: "string", default: "demo" },
      region: { type: "string", default: "lab1" },
      mode: { type: "string", default: "agent" },
    },
  });
  for (const slug of [values.organisation, values.region])
    if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(slug)) throw new BadSettings(`${slug} is no slug`);
  if (values.mode !== "agent" && values.mode !== "direct") throw new BadSettings(`${values.mode} is no mode`);
  const names = { organisation: values.organisation, region: values.region, mode: values.mode } as const;
  const { db, close } = openDatabase({ url, poolSize: 2, guardTenants: false });
  try {
    const kept = values.keep === undefined ? null : await readKept(db, values.keep, names);
    // Kept or not, the region's settings are those of this start.
    const seeded = kept ?? (await seed(db, names));
    await db.updateTable("region").set({ mode: names.mode }).where("slug", "=", names.region).execute();
    stdout.write(`${JSON.stringify(seeded)}\n`);
  } finally {
    await close();
  }
}

type Names = { readonly organisation: string; readonly region: string; readonly mode?: "agent" | "direct" };

/** Creates what is missing, and new secrets for all of it. */
export async function seed(db: Database, names: Names): Promise<Seeded> {
  const passwords = { operator: generatePassword(), organisation: generatePassword() };
  const hashes = {
    operator: await hashPassword(passwords.operator),
    organisation: await hashPassword(passwords.organisation),
  };
  return inTransaction(db, async (tx) => {
    const operatorId = await ensureUser(tx, operatorEmail, "Operator", hashes.operator, true);
    const ownerId = await ensureUser(tx, ownerEmail, "Demo Owner", hashes.organisation, false);
    const organisation =
      (await findOrganisationBySlug(tx, names.organisation)) ??
      (await insertOrganisation(tx, { id: newId("org"), slug: names.organisation, name: "Demo" }));
    if (!(await listMemberships(tx, ownerId)).some(({ id }) => id === organisation.id)) {
      const member = { organisation_id: organisation.id, user_id: ownerId, role: "owner" };
      await insertMember(tx, { id: newId("mem"), ...member });
    }
    if ((await findRegion(tx, names.region)) === null)
      await addRegion(tx, {
        slug: names.region,
        name: names.region,
        vmid_range: { first: 20_000, last: 29_999 },
        vlan_range: { first: 100, last: 999 },
      });
    await endFormerTokens(tx);
    const mint = async (kind: TokenKind, more: object) =>
      (await issueToken(tx, { kind, name: tokenName, lifetimeSeconds: null, ...more })).secret;
    const seeded: Seeded = {
      organisation_id: organisation.id,
      region: names.region,
      operator_token: await mint("operator", { userId: operatorId }),
      organisation_token: await mint("organisation", {
        organisationId: organisation.id,
        userId: ownerId,
        role: "owner",
      }),
      agent_token: await mint("agent", { region: names.region }),
      users: {
        operator: { email: operatorEmail, password: passwords.operator },
        organisation: { email: ownerEmail, password: passwords.organisation },
      },
    };
    await noteSeed(tx, organisation.id, names);
    return seeded;
  });
}

async function ensureUser(
  tx: Tx,
  email: string,
  name: string,
  passwordHash: string,
  isOperator: boolean,
): Promise<string> {
  const values = { id: newId("usr"), email, name, password_hash: passwordHash, is_operator: isOperator };
  const user = (await insertUser(tx, values)) ?? (await findUserByEmail(tx, email));
  if (user === null) throw new Error(`no user ${email}`);
  await tx.updateTable("app_user").set({ password_hash: passwordHash }).where("id", "=", user.id).execute();
  return user.id;
}

async function endFormerTokens(tx: Tx): Promise<void> {
  await systemQuery(tx, "seeding ends the tokens of the seeding before")
    .updateTable("token")
    .set({ revoked_at: sql<Date>`clock_timestamp()` })
    .where("name", "=", tokenName)
    .where("created_by", "is", null)
    .where("revoked_at", "is", null)
    .execute();
}

async function noteSeed(tx: Tx, organisationId: string, names: Names): Promise<void> {
  await tx
    .insertInto("audit")
    .values({
      id: newId("aud"),
      organisation_id: organisationId,
      actor_type: "system",
      action: "installation.seed" satisfies SystemAuditAction,
      outcome: "succeeded",
      http_status: 200,
      request_id: newId("req"),
      details: JSON.stringify(names),
    })
    .execute();
}

/** The content of the file, if all of its secrets are valid here. */
async function readKept(db: Database, path: string, names: Names): Promise<Seeded | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return null;
  let kept: Partial<Seeded>;
  try {
    kept = JSON.parse(text) as Partial<Seeded>;
  } catch {
    return null;
  }
  const { operator_token, organisation_token, agent_token, organisation_id, users } = kept;
  for (const token of [operator_token, organisation_token, agent_token])
    if (!(await isLive(db, token))) return null;
  for (const login of [users?.operator, users?.organisation]) if (!(await opens(db, login))) return null;
  const organisation = await findOrganisationBySlug(db, names.organisation);
  if (organisation?.id !== organisation_id) return null;
  return {
    organisation_id,
    region: names.region,
    operator_token,
    organisation_token,
    agent_token,
    users,
  } as Seeded;
}

async function isLive(db: Database, secret: string | undefined): Promise<boolean> {
  const token = parseToken(secret ?? "");
  const stored = token === null ? null : await findCaller(db, token);
  return token !== null && stored !== null && sameHash(stored.secretHash, token.hash);
}

async function opens(db: Database, login: Login | undefined): Promise<boolean> {
  if (login?.email === undefined || login.password === undefined) return false;
  const user = await findUserByEmail(db, login.email);
  return (await passwordProof(db, user?.id ?? null, login.password)) !== null;
}
