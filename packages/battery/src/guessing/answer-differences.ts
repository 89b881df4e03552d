import { type Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { made } from "@kule/api/testing/proofs/tenant";
import { type Separation, separation, standardError } from "@kule/api/testing/proofs/timing";
import type { Scale } from "../row.ts";
import type { GuessWorld } from "./guess-world.ts";

/** A request by which an attacker tries to learn whether something exists. */
export type Question = {
  readonly name: string;
  /** Whether its time matters: ids with eighty random bits cannot be found by trying. */
  readonly isTimed: boolean;
  readonly known: () => Promise<Answer>;
  readonly unknown: () => Promise<Answer>;
  /** How both are answered; left out, as a refusal. */
  readonly answers?: number;
};

/** Each computes a password's hash, of which a few dozen a second are possible. */
const rounds: { readonly [scale in Scale]: number } = { full: 400, sample: 30 };
const warmRounds = 3;
/** As in C2: a difference that is useless for an attacker, and the error of a measurement by chance. */
const tolerance = 0.05;
const standardErrors = 4;
const attempts = 3;

export async function questionsOf(guesses: GuessWorld): Promise<readonly Question[]> {
  const { stranger, acme, world } = guesses;
  const [plain, careful, nowhere] = [
    await guesses.addPerson(),
    await guesses.addCarefulPerson(),
    await guesses.addPerson(),
  ];
  made(await acme.owner.delete(`/members/${nowhere.memberId}`));
  // The caller's address is compared with the person's earlier ones: that takes time as well.
  const elsewhere = guesses.from("198.51.100.9");
  const login = (email: string, password: string) => async () => {
    await guesses.deleteFailures();
    return elsewhere.post("/auth/login", { email, password });
  };
  const wrong = "not the password";
  const nobody = login("nobody@example.org", wrong);
  const { secret: token } = made(await acme.owner.post("/tokens", { name: "known", role: "viewer" }));
  const asked = (secret: string) => () => new ApiCaller(world.app, secret).get("/me");
  const withdrawn = await guesses.invite("nobody-joined@example.org");
  made(await acme.owner.delete(`/invitations/${withdrawn.id}`));
  const neverMade = guesses.madeUp(withdrawn.secret, "id");
  const offer = (secret: string) => () => stranger.post("/auth/invitation", { secret });
  const accept = (secret: string) => () =>
    stranger.post("/auth/invitation/accept", { secret, name: "Ada", password: "correct horse battery" });
  const signIn = await guesses.signInOf(careful);
  made(await careful.session.put("/me/password", { ...passwordsOf(careful.password) }));
  const finish = (sign_in: string) => () => stranger.post("/auth/second-factor", { sign_in, code: "000000" });
  const question = (
    name: string,
    isTimed: boolean,
    known: Question["known"],
    unknown: Question["unknown"],
  ): Question => ({ name, isTimed, known, unknown });
  const mailed = (email: string) => async () => {
    await guesses.deleteFailures();
    return elsewhere.post("/auth/password-reset", { email });
  };
  return [
    {
      ...question("a link for a lost password", true, mailed(plain.email), mailed("nobody@example.org")),
      answers: 202,
    },
    question("a login", true, login(plain.email, wrong), nobody),
    question("a login of somebody with a second factor", true, login(careful.email, wrong), nobody),
    question("a login of somebody who belongs nowhere", true, login(nowhere.email, wrong), nobody),
    question(
      "a right password of who belongs nowhere",
      false,
      login(nowhere.email, nowhere.password),
      nobody,
    ),
    question("a token", false, asked(guesses.madeUp(token, "secret")), asked(guesses.madeUp(token, "id"))),
    question("an invitation that was withdrawn", false, offer(withdrawn.secret), offer(neverMade)),
    question(
      "the use of an invitation that was withdrawn",
      false,
      accept(withdrawn.secret),
      accept(neverMade),
    ),
    question("a sign-in that is over", false, finish(signIn), finish(`${signIn.slice(0, -4)}AAAA`)),
  ];
}

const passwordsOf = (current_password: string) => ({
  current_password,
  new_password: "quite another, longer one",
});

/** In what the replies differ; nothing where they read the same. */
export async function replyDifferences({ name, known, unknown, answers }: Question): Promise<string[]> {
  const [one, other] = [readingOf(await known()), readingOf(await unknown())];
  if (answers === undefined ? one.status < 400 : one.status !== answers)
    return [`${name} is answered ${one.status}`];
  return one.text === other.text
    ? []
    : [`${name} reads otherwise than what never was: ${one.text} and ${other.text}`];
}

/**
 * Whether an attacker who measures learns it: repeated where one measurement was disturbed, as on a busy
 * machine.
 */
export async function timingDifferences(
  question: Question,
  scale: Scale,
): Promise<{ area: number; violations: string[] }> {
  const { name, known, unknown } = question;
  const count = rounds[scale];
  const band = Math.max(tolerance, standardErrors * standardError(count));
  let best: Separation | null = null;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const measured = await separation(
      { foreign: known, absent: unknown, control: unknown },
      count,
      warmRounds,
    );
    if (best === null || distance(measured.seen) < distance(best.seen)) best = measured;
    if (distance(best.seen) <= band) break;
  }
  if (best === null) throw new Error(`${name} was not measured`);
  const { seen, control } = best;
  const told = `AUC ${seen.toFixed(3)}, ${attempts} times beyond 0.5 ± ${band.toFixed(3)}; control ${control.toFixed(3)}`;
  return {
    area: seen,
    violations:
      distance(seen) > band ? [`${name} tells by its time whether there is such a one: ${told}`] : [],
  };
}

export const distance = (area: number) => Math.abs(area - 0.5);

/** All that is read of an answer: without the request's own id and the moment. */
function readingOf({ status, headers, body }: Answer): { readonly status: number; readonly text: string } {
  const requestId = headers.get("x-request-id") ?? headers.get("request-id") ?? "";
  const kept = [...headers]
    .filter(([name]) => !/^(x-)?request-id$|^date$|^ratelimit/.test(name))
    .toSorted(([one], [other]) => one.localeCompare(other));
  const text = JSON.stringify([status, kept, body]);
  return { status, text: requestId === "" ? text : text.replaceAll(requestId, "…") };
}
