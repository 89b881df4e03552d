import pg from "pg";
import type { Person, SignInWorld } from "./sign-in-world.ts";

type Attempt = {
  readonly sentence: string;
  readonly sql: string;
  readonly values?: readonly unknown[];
};

/**
 * What an attacker with the API's or the worker's connection to the database, and nothing else, can do to how
 * people sign in: nothing. Each attempt is either refused or answers that nothing was done.
 */
export async function stolenConnection(world: SignInWorld): Promise<readonly string[]> {
  const [victim, thief] = [await world.addPerson("owner"), await world.addPerson()];
  const session = await world.signIn(thief);
  return [
    ...(await doneWith(world.apiUrl, "the API's", victim, (id) => attempts(id, session.token ?? ""))),
    ...(await doneWith(world.workerUrl, "the worker's", victim, workersAttempts)),
  ];
}

async function doneWith(
  url: string,
  whose: string,
  victim: Person,
  attemptsAt: (victimId: string) => readonly Attempt[],
): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const violations: string[] = [];
    for (const { sentence, sql, values = [] } of attemptsAt(await idOf(client, victim))) {
      await client.query("begin");
      const done = await client.query(sql, [...values]).then(
        ({ rows }) => rows.some((row) => row.done !== null && row.done !== false),
        (error: unknown) => {
          if ((error as pg.DatabaseError).code === "42501") return false;
          throw error;
        },
      );
      await client.query("rollback");
      if (done) violations.push(`with ${whose} connection alone ${sentence}`);
    }
    return violations;
  } finally {
    await client.end();
  }
}

async function idOf(client: pg.Client, { email }: Person): Promise<string> {
  const { rows } = await client.query("select id from app_user where email = $1", [email]);
  return rows[0].id as string;
}

function attempts(victim: string, thiefsSecret: string): readonly Attempt[] {
  const guessed = JSON.stringify({ by: "password", user: victim, hash: "$argon2id$v=19$m=1,t=1,p=1$x$y" });
  const thiefs = JSON.stringify({
    by: "session",
    id: `tok_${thiefsSecret.split("_")[2]}`,
    secret: thiefsSecret,
  });
  const session = JSON.stringify({
    id: "tok_stolen",
    name: "session",
    user_id: victim,
    secret_hash: "00",
    lifetime_seconds: 60,
    idle_seconds: 60,
    opened_by: "password",
    is_proven: true,
  });
  return [
    {
      sentence: "the hash of a password is read",
      sql: "select password_hash as done from app_user where id = $1",
      values: [victim],
    },
    {
      sentence: "another password is written",
      sql: "update app_user set password_hash = 'x' where id = $1 returning id as done",
      values: [victim],
    },
    {
      sentence: "a session is inserted",
      sql: `insert into token (id, kind, user_id, name, secret_hash, expires_at)
            values ('tok_stolen', 'session', $1, 's', sha256('x'), now() + interval '1 hour') returning id as done`,
      values: [victim],
    },
    ...[guessed, thiefs].map((proof) => ({
      sentence: "a session of somebody else is opened",
      sql: "select kule_open_session($1, $2) as done",
      values: [proof, session],
    })),
    ...[guessed, thiefs].map((proof) => ({
      sentence: "a password of somebody else is set",
      sql: "select kule_set_password($1, $2, 'x') as done",
      values: [proof, victim],
    })),
    {
      sentence: "a reset is made by who is no operator",
      sql: "select kule_begin_password_reset($1, $2, 'x', '\\x00', 60) as done",
      values: [thiefs, victim],
    },
    {
      sentence: "an account at a provider is linked to somebody else",
      sql: "select kule_link_identity($1, $2) as done",
      values: [
        thiefs,
        JSON.stringify({ id: "idn_stolen", user_id: victim, issuer: "https://thief", subject: "x" }),
      ],
    },
  ];
}

/** The worker has no part in how people sign in; it only stores the links of resets that were mailed. */
const workersAttempts = (victim: string): readonly Attempt[] => [
  {
    sentence: "the hash of a password is read",
    sql: "select password_hash as done from app_user where id = $1",
    values: [victim],
  },
  {
    sentence: "the hash of a session's secret is read",
    sql: "select secret_hash as done from token where user_id = $1",
    values: [victim],
  },
  {
    sentence: "a person is made an operator",
    sql: "update app_user set is_operator = true where id = $1 returning id as done",
    values: [victim],
  },
  {
    sentence: "a session is inserted",
    sql: `insert into token (id, kind, user_id, name, secret_hash, expires_at)
          values ('tok_stolen', 'session', $1, 's', sha256('x'), now() + interval '1 hour') returning id as done`,
    values: [victim],
  },
];
