import {
  distance,
  questionsOf,
  replyDifferences,
  timingDifferences,
} from "../guessing/answer-differences.ts";
import { guessedTooOften, guessings, lockedByGuesses, mailedTooOften } from "../guessing/guess-limits.ts";
import { GuessWorld } from "../guessing/guess-world.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

const products = "apps/api/src/products";

export const row: Row = {
  id: "D11",
  title:
    "Guessing does not show which accounts exist, is limited to ten failures in a quarter of an hour, and locks nobody out permanently",
  minutes: 1.5,
  alone: "but for its mutants",
  mutants: [
    {
      name: "no-work-for-nobody",
      removes: "the hash that is computed for an unknown e-mail",
      patches: [
        {
          file: "apps/api/src/platform/passwords.ts",
          find: "if (nonce === undefined) return hashPassword(password);",
          replace: 'if (nonce === undefined) return "";',
        },
      ],
      expects: /^a login tells by its time/,
    },
    {
      name: "nobody-is-said",
      removes: "the same answer to an unknown e-mail and a wrong password",
      patches: [
        {
          file: `${products}/sign-in/login.ts`,
          find: "if (user === null || proof === null) throw wrong();",
          replace:
            'if (user === null) throw new Unauthorized("nobody has this e-mail");\n  if (proof === null) throw wrong();',
        },
      ],
      expects: /^a login reads otherwise than what never was/,
    },
    {
      name: "withdrawn-is-said",
      removes: "the same answer to every invalid secret",
      patches: [
        {
          file: `${products}/members/invitation-store.ts`,
          find: 'if (row === undefined || row.status !== "open") return null;',
          replace:
            'if (row === undefined) return null;\n  if (row.status !== "open") throw new Error("it is over");',
        },
      ],
      expects: /invitation that was withdrawn reads otherwise/,
    },
    {
      name: "mailed-is-said",
      removes: "the same answer to a request for a link, with or without an account",
      patches: [
        {
          file: `${products}/sign-in/request-password-reset.ts`,
          find: "await countResetRequest(request, email);",
          replace:
            'await countResetRequest(request, email);\n  if ((await request.db.selectFrom("app_user").select("id").where("email", "=", email).execute()).length === 0) return reply(204, null);',
        },
      ],
      expects: /^a link for a lost password reads otherwise than what never was/,
    },
    {
      name: "mails-not-counted",
      removes: "the limit of links that are mailed for one e-mail",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "failures >= (subject === byEmail ? maxResets.email : maxResets.address)",
          replace: "subject !== byEmail && failures >= maxResets.address",
        },
      ],
      expects: /requests for links for one e-mail 9 were taken, not 3/,
    },
    {
      name: "endless-guesses",
      removes: "the limit of guesses at one e-mail",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "(count) => count.failures >= maxFailures",
          replace: "(count) => count.failures >= maxFailures * 1_000",
        },
      ],
      expects: /of 16 guesses at a password 16 were looked at/,
    },
    {
      name: "counted-afterwards",
      removes: "the lock that serialises guesses at one e-mail",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "select pg_advisory_xact_lock(hashtextextended(",
          replace: "select (hashtextextended(",
        },
      ],
      expects: /guesses at .* were looked at, not 10/,
    },
    {
      name: "each-sign-in-anew",
      removes: "the limit of wrong codes by person",
      patches: [
        {
          file: `${products}/sign-in/complete-login.ts`,
          find: "beginAttempt(request, `second",
          replace: "beginAttempt(request, secret + `second",
        },
      ],
      expects: /guesses at a code, over several sign-ins \d+ were looked at/,
    },
    {
      name: "invitations-not-counted",
      removes: "the limit of passwords that are tried with an invitation",
      patches: [
        {
          file: `${products}/members/accept-invitation.ts`,
          find: "const attempt = await beginLogin(request, invitation.email, known?.id ?? null);",
          replace: "const attempt = { succeeded: async () => {} };",
        },
      ],
      expects: /guesses at a password by way of an invitation 16 were looked at/,
    },
    {
      name: "addresses-not-counted",
      removes: "the limit of guesses from one address",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "const subjects = byAddress === null ? [subject] : [byAddress, subject];",
          replace: "const subjects = [subject];",
        },
      ],
      expects: /guesses at a password from where its owner has signed in 16 were looked at/,
    },
    {
      name: "locked-out-by-strangers",
      removes: "the exception for addresses from which a person has signed in lately",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "&& !(isKnown && count.subject === subject)",
          replace: "",
        },
      ],
      expects: /their own login, from where they have signed in, is answered 429/,
    },
    {
      name: "locked-for-good",
      removes: "the end of the time for which failures count",
      patches: [
        {
          file: `${products}/account/login-limit.ts`,
          find: "const windowSeconds = 900;",
          replace: "const windowSeconds = 900_000_000;",
        },
      ],
      expects: /their own login, a quarter of an hour later, is answered 429/,
    },
  ],
  run: (run) => GuessWorld.use((guesses) => guess(run, guesses)),
};

async function guess({ scale, progress }: RowRun, guesses: GuessWorld): Promise<RowResult> {
  const violations: string[] = [];
  const questions = await questionsOf(guesses);
  for (const question of questions) violations.push(...(await replyDifferences(question)));
  const ways = await guessings(guesses);
  for (const way of ways) {
    violations.push(...(await guessedTooOften(guesses, way)));
    progress(`guesses at ${way.name}`);
  }
  violations.push(...(await mailedTooOften(guesses)));
  violations.push(...(await lockedByGuesses(guesses)));
  const areas: number[] = [];
  for (const question of questions.filter(({ isTimed }) => isTimed)) {
    const { area, violations: told } = await timingDifferences(question, scale);
    progress(`${question.name}: AUC ${area.toFixed(3)}`);
    areas.push(area);
    violations.push(...told);
  }
  const furthest = areas.toSorted((one, other) => distance(other) - distance(one))[0] ?? Number.NaN;
  return {
    cases: questions.length + ways.length + areas.length + 2,
    violations,
    figures: {
      "ways to guess": ways.length,
      "answers that tell nothing": questions.length,
      "AUC furthest from 0.5": furthest.toFixed(3),
    },
  };
}
