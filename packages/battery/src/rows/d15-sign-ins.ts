import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";
import { runSignInCases } from "../sign-in/run-cases.ts";
import { sessionCases } from "../sign-in/session-cases.ts";
import { SignInWorld } from "../sign-in/sign-in-world.ts";
import { stolenConnection } from "../sign-in/stolen-connection.ts";

const without = mutantsIn("apps/api/src/products");
const withoutInPostgres = mutantsIn("packages/database/src/migrations/0001-baseline");
const functions = "sign-in-functions.ts";

export const row: Row = {
  id: "D15",
  title:
    "A sign-in opens one session of one person, an ended session is refused everywhere, and the database connection of the API or the worker alone opens none",
  minutes: 0.5,
  mutants: [
    without(
      "code-taken-twice",
      "the period of the last code of an app",
      "account/totp.ts",
      "return period > Number(row.last_period) ? period : null;",
      "return period;",
      /one code of an app opened/,
    ),
    without(
      "recovery-code-stays",
      "the use that ends a recovery code",
      "account/second-factor-store.ts",
      `.where("used_at", "is", null)
    .returning("user_id")`,
      `.returning("user_id")`,
      /one recovery code opened/,
    ),
    withoutInPostgres(
      "sign-in-stays",
      "the end of a sign-in that has opened a session",
      functions,
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
      "account/passkey-ceremonies.ts",
      "(await spendChallenge(tx, challenge)) &&",
      "",
      /one answer of a passkey opened/,
    ),
    without(
      "sessions-outlive-the-password",
      "the end of other sessions with a changed password",
      "account/change-password.ts",
      "await revokeSessionsOfUser(tx, id, sessionId);",
      "Number(revokeSessionsOfUser.length < 0);",
      /a session from before a changed password is taken/,
    ),
    without(
      "sign-ins-outlive-the-password",
      "the end of begun sign-ins with a changed password",
      "account/change-password.ts",
      "await endSignInsOfUser(tx, id);",
      "void endSignInsOfUser;",
      /a sign-in from before a changed password was finished/,
    ),
    withoutInPostgres(
      "password-changed-twice",
      "the look at the present password when it is changed",
      functions,
      `when 'password' then
         sha256(convert_to(u.password_hash, 'UTF8')) = sha256(convert_to(proof ->> 'hash', 'UTF8'))`,
      "when 'password' then true",
      /a password was changed 2 times/,
    ),
    withoutInPostgres(
      "hashes-are-read",
      "the hashes of passwords from what the API's role may not read",
      "account.ts",
      "  id, email, email_key, name, has_password, is_operator,",
      "  id, email, email_key, name, has_password, password_hash, is_operator,",
      /the API's connection alone the hash of a password is read/,
    ),
    withoutInPostgres(
      "sessions-are-inserted",
      "the guard of sessions that are inserted",
      functions,
      "when (new.kind = 'session') execute function kule_guard_session();",
      "when (false) execute function kule_guard_session();",
      /the API's connection alone a session is inserted/,
    ),
    withoutInPostgres(
      "sessions-without-proof",
      "the proof that a session is opened for",
      functions,
      "if person is null or person is distinct from session ->> 'user_id' or proof ->> 'by' = 'session' then",
      "person := session ->> 'user_id';\n  if person is null then",
      /the API's connection alone a session of somebody else is opened/,
    ),
    withoutInPostgres(
      "resets-by-anybody",
      "the look whether who makes a reset is an operator",
      functions,
      "public.kule_person_shown(proof) and u.is_operator",
      "public.kule_person_shown(proof)",
      /the API's connection alone a reset is made by who is no operator/,
    ),
    {
      name: "worker-reads-hashes",
      removes: "the hashes of passwords from what the worker's role may not read",
      patches: [
        {
          file: "packages/database/src/worker-rights.ts",
          find: "array['password_hash', 'sealed_password',",
          replace: "array['sealed_password',",
        },
      ],
      expects: /with the worker's connection alone the hash of a password is read/,
    },
    {
      name: "worker-changes-people",
      removes: "the list of tables that the worker's role may write",
      patches: [
        {
          file: "packages/database/src/worker-rights.ts",
          find: "    audit_seal, audit_seal_head, audit_verification,",
          replace: "    app_user, audit_seal, audit_seal_head, audit_verification,",
        },
      ],
      expects: /with the worker's connection alone a person is made an operator/,
    },
    without(
      "left-session-stays",
      "the end of a session that its person leaves",
      "sign-in/logout.ts",
      "await revokeTokenRow(tx, tokenId);",
      "void revokeTokenRow;",
      /a session that its person has left is taken/,
    ),
    without(
      "anybodys-invitation",
      "the comparison of an invitation's e-mail with the session's",
      "members/join-organisation.ts",
      "if (invitation.email.toLowerCase() !== user.email.toLowerCase())",
      'if (invitation.email === "")',
      /an invitation of somebody else let a person through/,
    ),
    without(
      "invitation-outlives-its-role",
      "the end of invitations to a role that their maker has lost",
      "members/update-member.ts",
      "await revokeInvitationsOfUser(tx, organisationId, member.user_id, beyond);",
      "beyond.filter(() => revokeInvitationsOfUser === null);",
      /worth what its maker may not give/,
    ),
  ],
  run: (row) => runSignInCases(SignInWorld.open, [...sessionCases, stolenConnection], row),
};
