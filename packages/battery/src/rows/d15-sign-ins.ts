import { mutantsIn } from "../mutants-in.ts";
import type { Row } from "../row.ts";
import { runSignInCases } from "../sign-in/run-cases.ts";
import { sessionCases } from "../sign-in/session-cases.ts";
import { SignInWorld } from "../sign-in/sign-in-world.ts";

const without = mutantsIn("apps/api/src/products/identity");

export const row: Row = {
  id: "D15",
  title: "What signs in does so once and as one person, and a session is over everywhere once it is ended",
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
    without(
      "sign-in-stays",
      "the end of a sign-in that has opened a session",
      "complete-login.ts",
      "if (!(await endSignIn(tx, secret))) throw over();",
      "void endSignIn;",
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
    without(
      "password-changed-twice",
      "the look at the present password when it is changed",
      "change-password.ts",
      '.where("password_hash", was === null ? "is" : "=", was)',
      "",
      /a password was changed 2 times/,
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
  run: (row) => runSignInCases(SignInWorld.open, sessionCases, row),
};
