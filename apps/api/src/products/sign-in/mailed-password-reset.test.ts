import { SoftMailServer } from "@kule/testing/mail/soft-mail-server";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { addMember } from "../../testing/add-member.ts";
import { ApiCaller } from "../../testing/api-caller.ts";
import { ApiWorld, type TestOrganisation, testPanelOrigin } from "../../testing/api-world.ts";
import { type Mailer, mailerOf } from "../../worker/mailer.ts";
import { runWorker } from "../../worker/run.ts";

let world: ApiWorld;
let acme: TestOrganisation;
let database: Client;
let server: SoftMailServer;
let mailer: Mailer;
let people = 0;

const nobody = () => new ApiCaller(world.app, null);
const ask = (email: string, more: object = {}) => nobody().post("/auth/password-reset", { email, ...more });
const login = (email: string, password: string) => nobody().post("/auth/login", { email, password });
const confirm = (secret: string, new_password = "seven brave otters swam home") =>
  nobody().post("/auth/password-reset/confirm", { secret, new_password });

beforeAll(async () => {
  world = await ApiWorld.open();
  acme = await world.addOrganisation("acme");
  database = new Client({ connectionString: world.database.ownerUrl });
  await database.connect();
  server = await SoftMailServer.start();
  const { host, port, ca } = server;
  const from = { name: "Acme Cloud", address: "kule@acme.example" };
  mailer = mailerOf({ host, port, security: "starttls", login: null, ca, from });
});
afterAll(async () => {
  await server.goAway();
  await database.end();
  await world.close();
});
beforeEach(() => {
  server.mails.length = 0;
});

async function addPerson() {
  people += 1;
  const email = `person-${people}@example.org`;
  const { password } = await addMember(acme.owner, { email, role: "viewer" });
  const session = new ApiCaller(world.app, (await login(email, password)).body.token as string);
  const { rows } = await database.query("select id from app_user where email = $1", [email]);
  return { email, password, session, userId: rows[0].id as string };
}

/** Tries every queued mail once, with a worker that is started and stopped. */
async function work(by: Mailer | null = mailer): Promise<void> {
  const { rows } = await database.query<{ key: string; attempts: number }>(
    `update graphile_worker._private_jobs set run_at = now() where key like 'password-reset:%'
     returning key, attempts`,
  );
  const running = await runWorker({
    deps: world.replica.deps,
    workerUrl: world.database.workerUrl,
    mailer: by,
  });
  const untried = () =>
    database.query(
      `select 1 from graphile_worker._private_jobs as now
         join unnest($1::text[], $2::integer[]) as before (key, attempts) using (key)
        where now.attempts = before.attempts or now.locked_at is not null`,
      [rows.map(({ key }) => key), rows.map(({ attempts }) => attempts)],
    );
  await expect.poll(async () => (await untried()).rowCount, { timeout: 20_000 }).toBe(0);
  await running.stop();
}

async function waiting(): Promise<{ attempts: number; last_error: string | null; payload: object }[]> {
  const { rows } = await database.query(
    "select attempts, last_error, payload from graphile_worker._private_jobs where key like 'password-reset:%'",
  );
  return rows;
}

function secretIn({ text }: { readonly text: string }): string {
  return /\/reset-password\?secret=(kule_pwr_\S+)/.exec(text)?.[1] ?? "";
}

async function audited(action: string, resource: string | null) {
  const { rows } = await database.query(
    "select outcome, actor_type, details from audit where action = $1 and resource is not distinct from $2",
    [action, resource],
  );
  return rows;
}

describe("the mailed link", () => {
  test("is sent by the worker, leads to the panel of the configuration, and sets the password once", async () => {
    const ada = await addPerson();
    const coming = server.nextMail();
    const running = await runWorker({
      deps: world.replica.deps,
      workerUrl: world.database.workerUrl,
      mailer,
    });
    const asked = await nobody()
      .with({ Host: "evil.example", "X-Forwarded-Host": "evil.example" })
      .post("/auth/password-reset", { email: ada.email.toUpperCase() });
    expect([asked.status, asked.body]).toEqual([202, null]);
    const mail = await coming;
    await running.stop();
    expect(mail.to).toEqual([ada.email]);
    expect(mail.source).not.toContain("evil.example");
    const secret = secretIn(mail);
    const link = `${testPanelOrigin}/reset-password?secret=${secret}`;
    expect(mail.text).toContain(`\n${link}\n`);
    expect(mail.html).toContain(`<a href="${link}">`);
    expect(mail.text).toMatch(/It works until \d+ \w+ \d{4} at \d\d:\d\d UTC\. It works once\./);

    expect((await ada.session.get("/me")).status).toBe(200);
    expect((await confirm(secret)).status).toBe(204);
    expect((await ada.session.get("/me")).status).toBe(401);
    expect((await login(ada.email, ada.password)).status).toBe(401);
    expect((await login(ada.email, "seven brave otters swam home")).status).toBe(200);
    expect((await confirm(secret, "eight brave otters swam home")).status).toBe(422);

    expect(await audited("password.mail_reset", ada.userId)).toMatchObject([
      { outcome: "succeeded", actor_type: "system" },
    ]);
    expect(await audited("password.reset", ada.userId)).toMatchObject([{ outcome: "succeeded" }]);
    const requests = await audited("password.request_reset", null);
    expect(requests.map(({ details }) => details.email)).toContain(ada.email.toUpperCase());
  });

  test("is stored nowhere: the queue has the e-mail, the database the secret's hash", async () => {
    const ada = await addPerson();
    await ask(ada.email, { language: "tr" });
    expect((await waiting()).map(({ payload }) => payload)).toEqual([{ email: ada.email, language: "tr" }]);
    await work();
    const secret = secretIn(server.mails[0] ?? { text: "" });
    expect(secret).not.toBe("");
    const { rows } = await database.query(
      "select t::text from password_reset t union all select a::text from audit a",
    );
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  test("is in the requested language, valid for its hour, and replaces the ones before", async () => {
    const ada = await addPerson();
    await ask(ada.email);
    await work();
    await ask(ada.email, { language: "tr" });
    await work();
    const [first, second] = server.mails.map(secretIn);
    expect(server.mails[1]?.text).toContain("Bağlantı bir kez çalışır.");
    expect(server.mails[1]?.source).toMatch(/^Subject: Yeni parola belirleyin\r$/m);
    expect(server.mails[1]?.html).toContain('<html lang="tr">');
    expect((await confirm(first ?? "")).status).toBe(422);
    await database.query("update password_reset set expires_at = clock_timestamp() where user_id = $1", [
      ada.userId,
    ]);
    expect((await confirm(second ?? "")).status).toBe(422);
  });
});

describe("a request", () => {
  test("in letters that only look alike is not sent the link: it goes to the account's own e-mail", async () => {
    const email = "kaya@example.org";
    await addMember(acme.owner, { email, role: "viewer" });
    // The Kelvin sign, whose lower-case letter is a k.
    expect((await ask("\u212Aaya@example.org")).status).toBe(202);
    await work();
    expect(server.mails.flatMap(({ to }) => to)).toEqual([email]);
  });

  test("reads the same with or without an account, and sends no mail to an account without a password", async () => {
    const [ada, ben] = [await addPerson(), await addPerson()];
    await database.query("update app_user set password_hash = null where id = $1", [ben.userId]);
    const answers = [];
    for (const email of [ada.email, ben.email, "nobody@example.org"]) answers.push(await ask(email));
    const readings = answers.map(({ status, headers, body }) => {
      const kept = [...headers].filter(([name]) => name !== "x-request-id");
      return JSON.stringify([status, kept, body]);
    });
    expect(new Set(readings).size).toBe(1);
    await work();
    expect(server.mails.flatMap(({ to }) => to)).toEqual([ada.email]);
    expect(await waiting()).toEqual([]);
  });

  test("is counted by e-mail and by address, known or not", async () => {
    const ada = await addPerson();
    for (const email of [ada.email, "somebody@example.org"]) {
      const spelled = [email, email.toUpperCase(), email, email];
      const statuses = [];
      for (const each of spelled) statuses.push((await ask(each)).status);
      expect(statuses).toEqual([202, 202, 202, 429]);
    }
    const refused = await ask(ada.email);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(3_000);
    const env = { incoming: { socket: { remoteAddress: "192.0.2.77" } } };
    const request: ApiCaller["app"]["request"] = (path, init) => world.app.request(path, init, env);
    const stranger = new ApiCaller({ request }, null);
    const from = await Promise.all(
      Array.from({ length: 24 }, (_, number) =>
        stranger.post("/auth/password-reset", { email: `s-${number}@example.org` }),
      ),
    );
    expect(from.filter(({ status }) => status === 202)).toHaveLength(20);
    // They belong to no user, and sending them would take as long as all other tests of this file together.
    await database.query("delete from graphile_worker._private_jobs where key like 'password-reset:s-%'");
    await work();
    expect(server.mails).toHaveLength(1);
  });

  test("says where nothing is mailed, and who can help instead", async () => {
    const ada = await addPerson();
    const without = await world.addReplica({ mailFile: null });
    for (const email of [ada.email, "nobody@example.org"]) {
      const answer = await nobody().at(without.app).post("/auth/password-reset", { email });
      expect(answer).toMatchObject({
        status: 409,
        body: { code: "not_configured", precondition: { name: "installation_sends_mail" } },
      });
    }
    expect(await waiting()).toEqual([]);
  });
});

describe("a mail server that fails", () => {
  test("is retried until it accepts the mail: one mail, one link that works", async () => {
    const ada = await addPerson();
    await ask(ada.email);
    await work(null);
    expect((await waiting())[0]?.last_error).toContain("KULE_MAIL_FILE");
    await server.goAway();
    await work();
    expect((await waiting())[0]?.last_error).toContain("ECONNREFUSED");
    await server.comeBack();
    server.meet({ at: "data", code: 451 });
    await work();
    expect(await waiting()).toMatchObject([{ attempts: 3, last_error: expect.stringContaining("451") }]);
    expect(server.mails).toEqual([]);
    await work();
    expect(await waiting()).toEqual([]);
    expect(server.mails).toHaveLength(1);
    expect((await confirm(secretIn(server.mails[0] ?? { text: "" }))).status).toBe(204);
  });

  test("and accepts the mail without confirming it has it twice, of which the last one works", async () => {
    const ada = await addPerson();
    await ask(ada.email);
    server.meet({ at: "answer" });
    await work();
    expect(await waiting()).toMatchObject([{ attempts: 1 }]);
    await work();
    const [first = "", second = ""] = server.mails.map(secretIn);
    expect(second).not.toBe("");
    expect((await confirm(first)).status).toBe(422);
    expect((await confirm(second)).status).toBe(204);
  });

  test("permanently, for this recipient, is not retried, and operators can see it", async () => {
    const ada = await addPerson();
    await ask(ada.email);
    server.meet({ at: "recipient", code: 550 });
    await work();
    expect(await waiting()).toEqual([]);
    expect(await audited("password.mail_reset", ada.userId)).toMatchObject([{ outcome: "failed" }]);
  });
});
