import { generateKeyPairSync, randomBytes } from "node:crypto";
import { addMember } from "@kule/api/testing/add-member";
import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { answerOf, newSoftPerson, ownAnswer, sharedProvider } from "@kule/api/testing/soft-sign-ins";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { untilReady } from "@kule/testing/child-process";
import { type OidcTwist, softClient } from "@kule/testing/oidc/soft-provider";
import pg from "pg";
import { certificates } from "./canary-certificates.ts";
import { type CanaryWorld, tableSinks } from "./canary-world.ts";
import { ConsoleVisitor } from "./console-visitor.ts";

// Everything that handles secrets, including each way in which it can fail. It records every secret that it
// receives.

const openJobs = "server_secret while jobs are open";

const marked = (what: string) => `canary-${what}-${randomBytes(12).toString("hex")}`;

/** @returns what did not go as expected; a mutant may break things in its own way */
export async function runCanary(world: CanaryWorld, rounds: number, progress: (text: string) => void) {
  const problems: string[] = [];
  const attempt = async (what: string, work: () => Promise<void>) => {
    progress(what);
    await work().catch((error: unknown) =>
      problems.push(`${what} did not work: ${error instanceof Error ? error.stack : error}`),
    );
  };
  world.startAgent();
  for (let round = 0; round < rounds; round += 1) {
    await attempt("people and tokens", () => people(world, round));
    await attempt("requests that are refused", () => refusals(world, round));
    await attempt("servers", () => servers(world, round));
    await attempt("certificates", () => certificates(world, round));
    await attempt("the console", () => console_(world, round));
    await attempt("a database that breaks", () => brokenDatabase(world, round));
    await attempt("an agent that ends", async () => {
      const agents = [...world.processes].filter(([name]) => name.startsWith("agent"));
      await agents.at(-1)?.[1].end();
      const next = world.startAgent();
      await untilReady(next, async () => (next.output().includes('"level"') ? true : undefined));
    });
  }
  return problems;
}

function made(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function people(world: CanaryWorld, round: number): Promise<void> {
  const { api, secrets, region } = world;
  const owner = api.caller(region.organisationToken);
  const email = `ada-${round}@example.org`;
  const added = await addMember(owner, { email, name: "Ada", role: "admin" });
  const password = secrets.learn(`a member's password (${round})`, added.password);
  const nobody = api.caller(null);
  const wrong = secrets.learn(`a wrong password (${round})`, marked("wrong"));
  for (const body of [
    { email, password: wrong },
    { email: `nobody-${round}@example.org`, password: wrong },
  ])
    await nobody.post("/auth/login", body);
  const session = secrets.learnToken(
    `a session's token (${round})`,
    made(await nobody.post("/auth/login", { email, password })).token,
  );
  const admin = api.caller(session);
  made(await admin.get("/me"));
  const minted = made(
    await admin.post("/tokens", { name: `ci-${round}`, role: "viewer" }, { "Idempotency-Key": `k-${round}` }),
  );
  secrets.learnToken(`a token (${round})`, minted.secret);
  await admin.post("/tokens", { name: `ci-${round}`, role: "viewer" }, { "Idempotency-Key": `k-${round}` });
  const rotated = made(await admin.post(`/tokens/${minted.token.id}/rotate`, {}));
  secrets.learnToken(`a rotated token (${round})`, rotated.secret);
  const operator = api.caller(region.operatorToken);
  secrets.learnToken(
    `another agent's token (${round})`,
    made(await operator.post("/regions/lab1/agent-tokens", { name: `spare-${round}` })).secret,
  );
  for (const path of ["/tokens", "/members", "/audit?limit=200", "/organisation"])
    made(await admin.get(path));
  const guest = { email: `guest-${round}@example.org`, role: "viewer" };
  const invited = made(await admin.post("/invitations", guest, { "Idempotency-Key": `i-${round}` }));
  const secret = secrets.learn(`an invitation (${round})`, invited.secret);
  await admin.post("/invitations", guest, { "Idempotency-Key": `i-${round}` });
  const chosen = secrets.learn(`a password that a guest chose (${round})`, marked("chosen"));
  made(await nobody.post("/auth/invitation", { secret }));
  made(await nobody.post("/auth/invitation/accept", { secret, name: "Guest", password: chosen }));
  await nobody.post("/auth/invitation/accept", { secret, name: "Guest", password: chosen });
  made(await admin.get("/invitations"));
  await byProvider(world, admin, round);
  made(await admin.post("/auth/logout"));
  await admin.get("/me");
}

/**
 * A person links an account at a provider and signs in with it, and every kind of invalid answer is tried.
 */
async function byProvider(world: CanaryWorld, admin: ApiCaller, round: number): Promise<void> {
  const { api, secrets } = world;
  const provider = await sharedProvider();
  const person = newSoftPerson();
  const nobody = api.caller(null);
  const link = await ownAnswer(admin, provider, person, "link");
  made(await admin.post("/me/identities", link));
  const flows = [link.flow];
  for (const twist of [
    {},
    { foreignKey: true },
    { claims: { nonce: "another" } },
    { query: { code: "made-up" } },
    { tokenError: { status: 401, error: "invalid_client" } },
  ] as OidcTwist[]) {
    const answer = await answerOf(nobody, provider, person, undefined, twist);
    flows.push(answer.flow);
    const opened = await nobody.post("/auth/oidc", answer);
    await nobody.post("/auth/oidc", answer);
    if (opened.status === 200)
      secrets.learnToken(`a session's token by a provider (${round})`, opened.body.token);
  }
  // They count as failed logins of this machine, which has more to send.
  await withOwner(world, (client) => client.query("delete from login_failure"));
  for (const [index, flow] of flows.entries()) secrets.learn(`flow ${index} (${round})`, flow);
  // Codes, verifiers and tokens, as the provider saw them; its client's secret exists from the start.
  const seen = provider.secrets.filter((each) => each.length >= 8 && each !== softClient.secret);
  for (const [index, value] of seen.entries()) secrets.learn(`secret ${index} of the provider`, value);
}

/** Secrets where they do not belong: the caller's mistake, but not one to write down. */
async function refusals({ api, secrets, region }: CanaryWorld, round: number): Promise<void> {
  const owner = api.caller(region.organisationToken);
  const nobody = api.caller(null);
  const stray = (what: string) => secrets.learn(`${what} (${round})`, marked("stray"));
  const email = "owner@demo.example";
  await nobody.post("/auth/login", { email, password: 7, secret: stray("a password in another field") });
  await nobody.post(
    "/auth/login",
    `{"email": "${email}", "password": "${stray("a password in broken JSON")}"`,
  );
  await nobody.get("/me", { Authorization: `Bearer ${stray("a wrong bearer")}` });
  await nobody.get("/me", {
    Authorization: `Basic ${Buffer.from(`a:${stray("a basic password")}`).toString("base64")}`,
  });
  await nobody.get("/me", { Cookie: `kule_session=${stray("a cookie")}` });
  await nobody.get(`/servers?access_token=${stray("a token in the query")}`);
  await owner.get(`/servers?token=${stray("a token in a query that is known")}`);
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  secrets.learn(`a private key (${round})`, pem.split("\n")[1]?.slice(-40));
  await owner.post("/ssh-keys", { name: `oops-${round}`, public_key: pem });
  await owner.post("/ssh-keys", {
    name: `oops-${round}`,
    public_key: ed25519Line(),
    password: stray("an unknown field"),
  });
  await owner.post("/servers", { name: `oops-${round}`, password: stray("a wish for a password") });
  await owner.post("/auth/nothing", { password: stray("a password at an unknown path") });
}

type NewServer = { readonly id: string; readonly job: string };

async function servers(world: CanaryWorld, round: number): Promise<void> {
  const { region, api } = world;
  const owner = api.caller(region.organisationToken);
  await untilHealthy(world);
  if (round === 0) world.secrets.learn("the agent's sealing key", world.agentKey());
  const linux = await newServer(world, owner, `linux-${round}`, "ubuntu-24.04");
  const windows = await newServer(world, owner, `windows-${round}`, "windows-2022");
  world.midway.push(...(await tableSinks(world, " while jobs are open")));
  await learnStored(world);
  await region.untilDone(linux.job);
  await region.untilDone(windows.job);
  await learnDrives(world);

  const fault = { type: "qmclone", action: "error", text: "clone failed: no space left on device" };
  await control(world, "task-faults", fault);
  const failing = await newServer(world, owner, `failing-${round}`, "ubuntu-24.04");
  await learnStored(world);
  await region.untilDone(failing.job);
  await control(world, "faults", {
    action: "status-before",
    status: 500,
    reason: "oops",
    method: "POST",
    count: 2,
  });
  made(await owner.post(`/jobs/${failing.job}/retry`));
  await region.untilDone(failing.job);

  for (const { id } of [linux, windows, failing]) {
    made(await owner.get(`/servers/${id}`));
    const { job } = made(await owner.delete(`/servers/${id}`));
    await region.untilDone(job.id);
  }
  await untilDeleted(world);
}

async function newServer(
  { secrets }: CanaryWorld,
  owner: ApiCaller,
  name: string,
  image: string,
): Promise<NewServer> {
  const { server, job, console_password } = made(
    await owner.post("/servers", { name, region: "lab1", image, package: "l" }),
  );
  // Linux takes a hash from its drive. Windows would need the password itself, which its guest agent gets
  // instead.
  secrets.learn(`the console password of ${name}`, console_password);
  return { id: server.id, job: job.id };
}

async function withOwner<Result>(
  { region }: CanaryWorld,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: region.database.ownerUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * What is stored of passwords while jobs are open: it must be gone when they are done, and is stored nowhere
 * else.
 */
async function learnStored(world: CanaryWorld): Promise<void> {
  const { rows } = await withOwner(world, (client) =>
    client.query(
      "select s.name, password_hash, sealed_password from server_secret join server s on s.id = server_id",
    ),
  );
  for (const { name, password_hash: hash, sealed_password: sealed } of rows) {
    if (hash !== null) world.secrets.learn(`the stored hash of ${name}`, hash, ["the lab's files", openJobs]);
    if (sealed !== null) world.secrets.learn(`the sealed password of ${name}`, sealed, [openJobs]);
  }
}

/** The same from the other end, for jobs that ended before they were observed. */
async function learnDrives({ region, secrets }: CanaryWorld): Promise<void> {
  const vms = (await (await fetch(`${region.labControlUrl}/vms`)).json()) as {
    config: { name?: string };
    drive: { user: string } | null;
  }[];
  for (const { config, drive } of vms) {
    const hash = /^password: (\$6\$\S+)$/m.exec(drive?.user ?? "")?.[1];
    if (hash !== undefined)
      secrets.learn(`the stored hash of ${config.name}`, hash, ["the lab's files", openJobs]);
  }
}

async function control({ region }: CanaryWorld, path: string, body: object): Promise<void> {
  const answer = await fetch(`${region.labControlUrl}/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`the lab's control answered ${answer.status}`);
}

async function until(what: string, probe: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come to pass`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const untilHealthy = ({ api, region }: CanaryWorld) =>
  until("a region in order", async () => {
    const { items } = made(await api.caller(region.operatorToken).get("/regions"));
    return items[0]?.status === "ok";
  });

const untilDeleted = (world: CanaryWorld) =>
  until("the end of all servers", async () => {
    const left = "select 1 from server where status <> 'deleted'";
    return (await withOwner(world, (client) => client.query(left))).rows.length === 0;
  });

/** A person signs in, creates a server, sees its password once, fails to sign in, signs out. */
async function console_(world: CanaryWorld, round: number): Promise<void> {
  const { api, region, secrets, consoleUrl } = world;
  const owner = api.caller(region.organisationToken);
  const email = `grace-${round}@example.org`;
  const added = await addMember(owner, { email, name: "Grace", role: "admin" });
  const password = secrets.learn(`the console user's password (${round})`, added.password);
  const visitor = new ConsoleVisitor(consoleUrl);
  const typo = secrets.learn(`a typo in the console (${round})`, marked("typo"));
  await visitor.submit("/sign-in", "/sign-in", { email, password: typo });
  const signedIn = await visitor.submit("/sign-in", "/sign-in", { email, password });
  if (signedIn.status !== 303) throw new Error(`signing in is answered ${signedIn.status}`);
  await visitor.page("/servers");
  const fields = {
    name: `page-${round}`,
    region: "lab1",
    image: "ubuntu-24.04",
    package: "s",
    start: "on",
    intent: "create",
  };
  const created = await visitor.submit("/servers/new", "/servers/new", fields);
  const place = created.headers.get("location") ?? "";
  if (!/^\/servers\/srv_/.test(place)) throw new Error(`creating is answered ${created.status} ${place}`);
  const page = await visitor.page(place);
  const shown = /<code id="console-password">([^<]+)</.exec(page)?.[1];
  secrets.learn(`the console password of page-${round}`, shown, [`page ${place}`]);
  await learnStored(world);
  await visitor.page(place);
  const { items } = made(await owner.get(`/jobs?resource=${place.split("/").at(-1)}`));
  await region.untilDone(items[0].id);
  await learnDrives(world);
  await visitor.submit("/servers", "/sign-out", {});
  for (const [index, cookie] of [...visitor.given].entries())
    if (cookie.length > 40) secrets.learn(`cookie ${index} of the console (${round})`, cookie);
  // The page shows the password once: a second visit must not find it.
  const again = visitor.pages.filter(({ text }) => shown !== undefined && text.includes(shown));
  if (again.length !== 1) throw new Error(`the password is on ${again.length} pages of the console`);
  for (const { path, text } of visitor.pages)
    if (!(path === `GET ${place}` && text.includes(shown ?? "")))
      api.answers.push({ what: `console ${path}`, status: 200, text });
  const { job } = made(await owner.delete(`/servers/${place.split("/").at(-1)}`));
  await region.untilDone(job.id);
}

/**
 * Errors of the database contain the values that could not be written: those must not reach a log or an
 * answer.
 */
async function brokenDatabase(world: CanaryWorld, round: number): Promise<void> {
  const { api, region } = world;
  const owner = api.caller(region.organisationToken);
  const create = (name: string) =>
    owner.post("/servers", { name, region: "lab1", image: "debian-12", package: "s" });
  for (const table of ["server_secret", "token", "app_user", "idempotency_key", "audit"]) {
    await withOwner(world, (client) =>
      client.query(`alter table ${table} add constraint canary check (false) not valid`),
    );
    const name = `broken-${round}-${table.replaceAll("_", "-")}`;
    await create(name);
    await owner.post("/tokens", { name, role: "viewer" }, { "Idempotency-Key": name });
    await owner.post("/invitations", { email: `${name}@example.org`, role: "viewer" });
    await withOwner(world, (client) => client.query(`alter table ${table} drop constraint canary`));
  }
  await withOwner(world, (client) => client.query("alter table server_secret rename to server_secret_away"));
  await create(`away-${round}`);
  await withOwner(world, (client) => client.query("alter table server_secret_away rename to server_secret"));
  // Killed in the middle of writing secrets, and while idle.
  const { name } = region.database;
  await withOwner(world, async (client) => {
    const others = `select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = $1 and pid <> pg_backend_pid()`;
    await client.query("begin; lock table server_secret, app_user in access exclusive mode");
    const waiting = [
      create(`cut-${round}`),
      owner.post("/invitations", { email: `cut-${round}@example.org`, role: "viewer" }),
    ];
    await new Promise((resolve) => setTimeout(resolve, 500));
    await client.query(others, [name]);
    await client.query("rollback");
    await Promise.all(waiting);
    await client.query(others, [name]);
  });
  await untilReady(region.api, async () => ((await fetch(`${region.apiUrl}/readyz`)).ok ? true : undefined));
  // Those that were created after all.
  for (const { id } of made(await owner.get("/servers?limit=200")).items)
    await until("an end of what was made meanwhile", async () => {
      const { status } = await owner.delete(`/servers/${id}`);
      return status === 202 || status === 404;
    });
  await learnStored(world);
  await untilDeleted(world);
}
