import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import type { GuessWorld } from "./guess-world.ts";

/**
 * The contract's limit: this many wrong attempts for one e-mail, or one person's second factor, in this time.
 */
const failures = 10;
const windowSeconds = 900;
const guessesMade = 16;
/** And so many links by mail for one e-mail, and from one address, in an hour. */
const links = { email: 3, address: 20 };
const linkWindowSeconds = 3600;

export type Guessing = {
  readonly name: string;
  /** One wrong guess; which of them it is, so that no two are the same. */
  readonly guess: (number: number) => Promise<Answer>;
};

/** All ways to guess a person's password, or their second factor. */
export async function guessings(guesses: GuessWorld): Promise<readonly Guessing[]> {
  const { strangers } = guesses;
  const home = guesses.from("192.0.2.10");
  const atHome = await guesses.addPerson(home);
  const at = (number: number): ApiCaller => strangers[number % strangers.length] ?? guesses.stranger;
  const person = await guesses.addPerson();
  const careful = await guesses.addCarefulPerson();
  const signIns: string[] = [];
  for (let begun = 0; begun < 4; begun += 1) signIns.push(await guesses.signInOf(careful));
  const invited = await guesses.addPerson();
  const other = await guesses.world.addOrganisation("other");
  const invitation = await other.owner.post("/invitations", { email: invited.email, role: "viewer" });
  const wrong = (number: number) => `wrong password ${number}`;
  const login = (email: string) => (number: number) =>
    at(number).post("/auth/login", { email, password: wrong(number) });
  return [
    { name: "a password", guess: login(person.email) },
    { name: "the password of an e-mail that nobody has", guess: login("nobody@example.org") },
    {
      name: "a password in other letters of the e-mail",
      guess: (number) => login(number % 2 === 0 ? person.email : person.email.toUpperCase())(number),
    },
    {
      name: "a password from where its owner has signed in",
      guess: (number) => home.post("/auth/login", { email: atHome.email, password: wrong(number) }),
    },
    {
      name: "a code, over several sign-ins",
      guess: (number) =>
        at(number).post("/auth/second-factor", {
          sign_in: signIns[number % signIns.length],
          code: String(number).padStart(6, "0"),
        }),
    },
    {
      name: "a password by way of an invitation",
      guess: (number) =>
        at(number).post("/auth/invitation/accept", {
          secret: invitation.body.secret,
          name: "Ada",
          password: wrong(number),
        }),
    },
    {
      name: "the password of a session that was left open",
      guess: (number) =>
        person.session.put("/me/password", {
          current_password: wrong(number),
          new_password: "quite another, longer one",
        }),
    },
    {
      name: "the proof of a session that was left open",
      guess: (number) => person.session.post("/me/proof", { password: wrong(number) }),
    },
  ];
}

/**
 * Many concurrent guesses, at both processes: no more are checked than may fail, and the other answers say
 * when to retry.
 */
export async function guessedTooOften(guesses: GuessWorld, { name, guess }: Guessing): Promise<string[]> {
  await guesses.deleteFailures();
  const answers = await Promise.all(Array.from({ length: guessesMade }, (_, number) => guess(number)));
  const refused = answers.filter(({ status }) => status === 429);
  const looked = answers.length - refused.length;
  const found: string[] = [];
  if (looked !== failures)
    found.push(`of ${answers.length} guesses at ${name} ${looked} were looked at, not ${failures}`);
  const odd = answers.find(({ status }) => status !== 401 && status !== 422 && status !== 429);
  if (odd !== undefined) found.push(`a wrong guess at ${name} is answered ${odd.status}`);
  for (const { headers } of refused) {
    const wait = Number(headers.get("Retry-After") ?? Number.NaN);
    if (!(wait > 0 && wait <= windowSeconds))
      found.push(`a guess too many at ${name} is told to wait ${headers.get("Retry-After")} seconds`);
  }
  return [...new Set(found)];
}

/**
 * Links for a lost password: no mailbox is flooded with them, by one stranger or by many, with one spelling
 * or several.
 */
export async function mailedTooOften(guesses: GuessWorld): Promise<string[]> {
  const { strangers, stranger } = guesses;
  const { email } = await guesses.addPerson();
  const from = guesses.from("192.0.2.30");
  const floods = [
    {
      what: "links for one e-mail",
      most: links.email,
      ask: (number: number) =>
        (strangers[number % strangers.length] ?? stranger).post("/auth/password-reset", {
          email: number % 2 === 0 ? email : email.toUpperCase(),
        }),
    },
    {
      what: "links from one address",
      most: links.address,
      ask: (number: number) => from.post("/auth/password-reset", { email: `p-${number}@example.org` }),
    },
  ];
  const found: string[] = [];
  for (const { what, most, ask } of floods) {
    await guesses.deleteFailures();
    const answers = await Promise.all(Array.from({ length: most + 6 }, (_, number) => ask(number)));
    const taken = answers.filter(({ status }) => status === 202).length;
    if (taken !== most)
      found.push(`of ${answers.length} requests for ${what} ${taken} were taken, not ${most}`);
    for (const { status, headers } of answers) {
      const wait = Number(headers.get("Retry-After") ?? Number.NaN);
      if (status !== 202 && !(status === 429 && wait > 0 && wait <= linkWindowSeconds))
        found.push(`one too many of ${what} is answered ${status} and told to wait ${wait} seconds`);
    }
  }
  return [...new Set(found)];
}

/** Guesses fill a bucket that empties with time; they change nothing of the account. */
export async function lockedByGuesses(guesses: GuessWorld): Promise<string[]> {
  await guesses.deleteFailures();
  const home = guesses.from("192.0.2.20");
  const stranger = guesses.from("198.51.100.7");
  const { email, password, session } = await guesses.addPerson(home);
  const neighbour = await guesses.addPerson();
  const login = (by: ApiCaller, given: string, of = email) =>
    by.post("/auth/login", { email: of, password: given });
  for (let number = 0; number < guessesMade; number += 1) await login(stranger, `wrong password ${number}`);
  const found: string[] = [];
  const works = async (what: string, answer: Promise<Answer>) => {
    const { status } = await answer;
    if (status >= 300) found.push(`after guesses at somebody's password ${what} is answered ${status}`);
  };
  await works("the session that they have", session.get("/me"));
  await works("a neighbour's login", login(guesses.stranger, neighbour.password, neighbour.email));
  await works("their own login, from where they have signed in,", login(home, password));
  // The oldest of them leave the window first.
  await guesses.passSeconds(windowSeconds);
  await works("their own login, a quarter of an hour later,", login(stranger, password));
  return found;
}
