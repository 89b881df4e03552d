import { notConfigured } from "@kule/rules/refusals";
import type { ApiRequest } from "../../platform/api-request.ts";
import { writeAudit } from "../../platform/audit.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { mutation } from "../../platform/mutation.ts";
import type { Reply } from "../../platform/reply.ts";
import { storableText } from "../../platform/storable-text.ts";
import {
  doesNotHold,
  type EndedFlow,
  findUserByEmail,
  insertIdentity,
  insertUser,
  notLetIn,
  type OidcPerson,
  type UserRow,
} from "../account/index.ts";
import { actInOrganisationOf, findOffered, insertMember, join } from "../members/index.ts";
import { findOrganisationBySlug, lockOrganisation } from "../organisations/index.ts";
import { quotaRefusals } from "../quotas/index.ts";
import { actAsUser, openSessionIn } from "./open-session.ts";

/** The reason why a new person becomes a member. */
type Welcome = {
  readonly organisation: { readonly id: string };
  /** @returns the membership, and more for the trail */
  enter(
    tx: Tx,
    userId: string,
  ): Promise<{ member: string | null; details: Readonly<Record<string, unknown>> }>;
};

const maxNameCharacters = 100;

/**
 * Creates an account for a new person, in one transaction with the membership and the session. An account
 * with the same e-mail is not used: the address at the provider may belong to another person by now.
 */
export async function signUpWithOidc(request: ApiRequest<"loginWithOidc">, ended: EndedFlow): Promise<Reply> {
  const { person, provider } = ended;
  const email = person.email ?? "";
  if ((await findUserByEmail(request.db, email)) !== null) throw notLetIn("not_yet_an_account", provider);
  const welcome = await welcomeOf(request, ended, email);
  return mutation(request, async (tx) => {
    const user = await addUser(tx, person, email);
    if (user === null) throw notLetIn("not_yet_an_account", provider);
    const identity = await insertIdentity(tx, { by: "new" }, user.id, person);
    if (identity === null) throw doesNotHold();
    actAsUser(request, user);
    const { member, details } = await welcome.enter(tx, user.id);
    const noted = { provider: provider.id, new_user: true, ...details };
    await writeAudit(tx, request, {
      action: "member.join",
      resource: member,
      outcome: "succeeded",
      httpStatus: 200,
      code: null,
      details: noted,
    });
    const proof = { by: "identity", id: identity.id } as const;
    const opening = {
      proof,
      by: "oidc",
      identityId: identity.id,
      provenSeconds: person.authenticatedAt,
    } as const;
    return openSessionIn(tx, request, user, welcome, { ...opening, details: noted });
  });
}

async function welcomeOf(
  request: ApiRequest,
  { provider, invitation: secret }: EndedFlow,
  email: string,
): Promise<Welcome> {
  if (secret !== null) {
    const invitation = await findOffered(request.db, secret);
    if (invitation === null || invitation.email.toLowerCase() !== email.toLowerCase())
      throw notLetIn("invited", provider);
    actInOrganisationOf(request, invitation);
    return {
      organisation: { id: invitation.organisation_id },
      enter: async (tx, userId) => {
        const { resource, details } = await join(tx, invitation, userId, () => notLetIn("invited", provider));
        return { member: resource, details: details ?? {} };
      },
    };
  }
  if (provider.signUp === null) throw notLetIn("invited", provider);
  const { organisation: slug, role } = provider.signUp;
  const organisation = await findOrganisationBySlug(request.db, slug);
  if (organisation === null) {
    request.deps.log.error({ provider: provider.id, organisation: slug }, "sign_up names no organisation");
    throw new Conflict(
      notConfigured("organisation_to_join", "sign-up is not possible at the moment", {
        fix: "an operator corrects sign_up in KULE_OIDC_FILE",
      }),
    );
  }
  request.established.organisation = {
    ...organisation,
    status: organisation.status === "suspended" ? "suspended" : "active",
  };
  return {
    organisation,
    enter: async (tx, userId) => {
      await lockOrganisation(tx, organisation.id);
      // The answer does not show the organisation's figures to a person outside of it.
      if ((await quotaRefusals(tx, organisation.id, { members: 1 })).length > 0)
        throw notLetIn("organisation_has_room", provider);
      const member = newId("mem");
      await insertMember(tx, { id: member, organisation_id: organisation.id, user_id: userId, role });
      return { member, details: { role } };
    },
  };
}

function addUser(tx: Tx, person: OidcPerson, email: string): Promise<UserRow | null> {
  const name = storableText((person.name ?? email.split("@")[0] ?? email).slice(0, maxNameCharacters));
  return insertUser(tx, { id: newId("usr"), email, name, password_hash: null });
}
