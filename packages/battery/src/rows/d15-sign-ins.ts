import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";
import { runSignInCases } from "../sign-in/run-cases.ts";
import { sessionCases } from "../sign-in/session-cases.ts";
import { SignInWorld } from "../sign-in/sign-in-world.ts";
import { stolenConnection } from "../sign-in/stolen-connection.ts";

const without = mutantsIn("apps/api/src/products/identity");
const withoutInPostgres = mutantsIn("packages/database/src/migrations");
const rights = "0052-sign-in-rights.ts";

export const row: Row = {
  id: "D15",
  title:
    "What signs in does so once and as one person, a session is over everywhere once it is ended, and the API's database connection alone opens none",
  minutes: 0.5,
  mutants: [
    without(
      "code-taken-twice",
      "the period of the last code of an app",
      "totp.ts",
      "return period > Number(row.last_period) ? period : null;",
      "return period;",
      /one code of an app opened/,
    ),
    without(
      "recovery-code-stays",
      "the use that ends a recovery code",
      "second-factor-store.ts",
      `.where("used_at", "is", null)
    .returning("user_id")`,
      `.returning("user_id")`,
      /one recovery code opened/,
    ),
    withoutInPostgres(
      "sign-in-stays",
      "the end of a sign-in that has opened a session",
      rights,
      `delete from public.sign_in s
       where s.id = proof ->> 'id' and s.secret_hash = sha256(convert_to(proof ->> 'secret', 'UTF8'))
         and s.expires_at > clock_timestamp()
      returning s.user_id into person;`,
      `select s.user_id into person from public.sign_in s
       where s.id = proof ->> 'id' and s.secret_hash = sha256(convert_to(proof ->> 'secret', 'UTF8'));`,
      /one sign-in opened/,
    ),
    without(
      "challenge-stays",
      "the record of challenges that were answered",
      "passkey-ceremonies.ts",
      "(await spendChallenge(tx, challenge)) &&",
      "",
      /one answer of a passkey opened/,
    ),
    without(
      "sessions-outlive-the-password",
      "the end of other sessions with a changed password",
      "change-password.ts",
      "await revokeSessionsOfUser(tx, id, sessionId);",
      "Number(revokeSessionsOfUser.length < 0);",
      /a session from before a changed password is taken/,
    ),
    without(
      "sign-ins-outlive-the-password",
      "the end of begun sign-ins with a changed password",
      "change-password.ts",
      "await endSignInsOfUser(tx, id);",
      "void endSignInsOfUser;",
      /a sign-in from before a changed password was finished/,
    ),
    withoutInPostgres(
      "password-changed-twice",
      "the look at the present password when it is changed",
      rights,
      `when 'password' then
         sha256(convert_to(u.password_hash, 'UTF8')) = sha256(convert_to(proof ->> 'hash', 'UTF8'))`,
      "when 'password' then true",
      /a password was changed 2 times/,
    ),
    withoutInPostgres(
      "hashes-are-read",
      "the hashes of passwords from what the API's role may not read",
      rights,
      "  id, email, email_key, name, has_password, is_operator,",
      "  id, email, email_key, name, has_password, password_hash, is_operator,",
      /the API's connection alone the hash of a password is read/,
    ),
    withoutInPostgres(
      "sessions-are-inserted",
      "the guard of sessions that are inserted",
      rights,
      "when (new.kind = 'session') execute function kule_guard_session();",
      "when (false) execute function kule_guard_session();",
      /the API's connection alone a session is inserted/,
    ),
    withoutInPostgres(
      "sessions-without-proof",
      "the proof that a session is opened for",
      rights,
      "if person is null or person is distinct from session ->> 'user_id' or proof ->> 'by' = 'session' then",
      "person := session ->> 'user_id';\n  if person is null then",
      /the API's connection alone a session of somebody else is opened/,
    ),
    withoutInPostgres(
      "resets-by-anybody",
      "the look whether who makes a reset is an operator",
      rights,
      "public.kule_person_shown(proof) and u.is_operator",
      "public.kule_person_shown(proof)",
      /the API's connection alone a reset is made by who is no operator/,
    ),
    without(
      "left-session-stays",
      "the end of a session that its person leaves",
      "logout.ts",
      "await revokeTokenRow(tx, tokenId);",
      "void revokeTokenRow;",
      /a session that its person has left is taken/,
    ),
    without(
      "anybodys-invitation",
      "the comparison of an invitation's e-mail with the session's",
      "join-organisation.ts",
      "if (invitation.email.toLowerCase() !== user.email.toLowerCase())",
      'if (invitation.email === "")',
      /an invitation of somebody else let a person through/,
    ),
    without(
      "invitation-outlives-its-role",
      "the end of invitations to a role that their maker has lost",
      "update-member.ts",
      "await revokeInvitationsOfUser(tx, organisationId, member.user_id, beyond);",
      "beyond.filter(() => revokeInvitationsOfUser === null);",
      /worth what its maker may not give/,
    ),
  ],
  run: (row) => runSignInCases(SignInWorld.open, [...sessionCases, stolenConnection], row),
};
