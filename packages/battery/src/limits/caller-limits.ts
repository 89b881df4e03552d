import { randomBytes } from "node:crypto";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { type CallAnswer, HttpCaller, inLanes } from "../served-api/http-call.ts";
import type { ServedApi } from "../served-api/served-api.ts";
import { type Bucket, bucketViolations, refusalViolations } from "./bucket-check.ts";

// The default limits (ADR 0003, and the contract's introduction).
export const perOwner: Bucket = { burst: 600, perHour: 3600 };
const perAddress = perOwner;
const perOrganisation: Bucket = { burst: 100, perHour: 600 };
const pollsAtOnce = 10;
const failedLogins = 10;

export type Found = {
  readonly cases: number;
  readonly violations: readonly string[];
  readonly figures?: Figures;
};
type Figures = Readonly<Record<string, number | string>>;

async function timed<Result>(work: () => Promise<Result>): Promise<readonly [Result, number]> {
  const startedAt = performance.now();
  const result = await work();
  return [result, (performance.now() - startedAt) / 1000];
}

/** Why an operator enters the organisations of these cases. */
const reason = "a case of the limits";

/** Mints a token of the seeded organisation. */
async function freshToken({ replicas: [first], seeded }: ServedApi, caller: HttpCaller): Promise<string> {
  const { status, text } = await caller.call(`${first?.url}/tokens`, {
    method: "POST",
    token: seeded.organisation_token,
    body: { name: `t-${randomBytes(4).toString("hex")}`, role: "member" },
  });
  if (status !== 201) throw new Error(`no token: ${status} ${text}`);
  return (JSON.parse(text) as { secret: string }).secret;
}

/** Tokens of a new organisation, which count together: a full bucket. */
export async function freshOwner(
  { replicas: [first], seeded }: ServedApi,
  caller: HttpCaller,
  count = 1,
): Promise<string[]> {
  const made = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const { status, text } = await caller.call(`${first?.url}${path}`, {
      method: "POST",
      token: seeded.operator_token,
      body,
      headers,
    });
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as { readonly id: string; readonly secret: string };
  };
  const slug = `o-${randomBytes(4).toString("hex")}`;
  const { id } = await made("/organisations", { slug, name: slug });
  const tokens: string[] = [];
  for (let index = 0; index < count; index += 1)
    tokens.push(
      (await made("/tokens", { name: `t-${index}`, role: "member", reason }, { "Kule-Organisation": id }))
        .secret,
    );
  return tokens;
}

/**
 * Four tokens of one owner, more calls than their bucket holds; another owner continues undisturbed; and
 * later so do they.
 */
export async function ownerBucket(api: ServedApi, caller: HttpCaller): Promise<Found> {
  const url = `${api.replicas[0]?.url}/me`;
  const tokens = await freshOwner(api, caller, 4);
  const [other] = await freshOwner(api, caller);
  const [answers, seconds] = await timed(() =>
    inLanes(perOwner.burst + 100, 8, (index) =>
      caller.call(url, { token: tokens[index % tokens.length] ?? "" }),
    ),
  );
  const violations = bucketViolations("calls of one owner's tokens", answers, perOwner, seconds);
  if ((await caller.call(url, { token: other ?? "" })).status !== 200)
    violations.push("another owner's token is held back with the loud ones");
  const refused = answers.find(({ status }) => status === 429);
  if (refused !== undefined) {
    const waitSeconds = Number(refused.headers["retry-after"]);
    await new Promise((resolve) => setTimeout(resolve, Math.min(waitSeconds || 1, 5) * 1000 + 1000));
    const { status } = await caller.call(url, { token: tokens[0] ?? "" });
    if (status !== 200) violations.push(`after Retry-After the token is answered ${status}`);
  }
  return { cases: answers.length + 2, violations };
}

/** One token at two replicas in turn: a figure for the trade-off of ADR 0003, and a bound for it. */
export async function tokenAtReplicas(api: ServedApi, caller: HttpCaller): Promise<Found> {
  const [token = ""] = await freshOwner(api, caller);
  const urls = api.replicas.map(({ url }) => `${url}/me`);
  const [answers, seconds] = await timed(() =>
    inLanes(urls.length * (perOwner.burst + 50), 8, (index) =>
      caller.call(urls[index % urls.length] ?? "", { token }),
    ),
  );
  const accepted = answers.filter(({ status }) => status === 200).length;
  const bucket = { burst: perOwner.burst * urls.length, perHour: perOwner.perHour * urls.length };
  return {
    cases: answers.length,
    violations: bucketViolations(`calls of one token at ${urls.length} replicas`, answers, bucket, seconds),
    figures: { [`calls at once of one token at ${urls.length} replicas`]: accepted },
  };
}

/** Wrong tokens from one address; another address and a right token from this one are not held back. */
export async function addressBucket(api: ServedApi): Promise<Found> {
  const [loud, quiet] = [new HttpCaller("127.0.0.5"), new HttpCaller("127.0.0.6")];
  const url = `${api.replicas[0]?.url}/me`;
  const guess = () => `kule_pat_${randomBytes(24).toString("hex")}`;
  const [answers, seconds] = await timed(() =>
    inLanes(perAddress.burst + 60, 8, () => loud.call(url, { token: guess() })),
  );
  const violations = bucketViolations("wrong tokens from one address", answers, perAddress, seconds);
  const unexpected = answers.find(({ status }) => status !== 401 && status !== 429);
  if (unexpected !== undefined) violations.push(`a wrong token is answered ${unexpected.status}`);
  if ((await quiet.call(url, { token: guess() })).status !== 401)
    violations.push("another address is held back with the loud one");
  const right = await loud.call(url, { token: api.seeded.organisation_token });
  if (right.status !== 200)
    violations.push(`a right token from the loud address is answered ${right.status}`);
  loud.close();
  quiet.close();
  return { cases: answers.length + 2, violations };
}

/**
 * Failed logins are counted in the database: ten of them at whichever replica, and however many concurrently.
 */
export async function loginLimit(api: ServedApi, random: () => number): Promise<Found> {
  const guesser = new HttpCaller("127.0.0.7");
  const email = api.seeded.users.organisation.email;
  const answers = await inLanes(30, 10, (index) =>
    guesser.call(`${api.replicas[index % api.replicas.length]?.url}/auth/login`, {
      method: "POST",
      body: { email, password: `wrong ${random()}` },
    }),
  );
  guesser.close();
  const wrong = answers.filter(({ status }) => status === 401).length;
  const violations =
    wrong > failedLogins ? [`${wrong} wrong passwords were looked at, not ${failedLogins}`] : [];
  if (wrong === 0) violations.push("no wrong password was looked at");
  for (const answer of answers.filter(({ status }) => status !== 401))
    violations.push(...refusalViolations("failed logins", answer));
  return { cases: answers.length, violations };
}

/** An organisation creates with as many tokens as it likes, and has one bucket. */
export async function createLimit(api: ServedApi, caller: HttpCaller): Promise<Found> {
  const made = await caller.call(`${api.replicas[0]?.url}/organisations`, {
    method: "POST",
    token: api.seeded.operator_token,
    body: { slug: "maker", name: "Maker" },
  });
  const organisation = (JSON.parse(made.text) as { id: string }).id;
  const create = (token: string, name: string, acting: string): Promise<CallAnswer> =>
    caller.call(`${api.replicas[0]?.url}/ssh-keys`, {
      method: "POST",
      token,
      body: { name, public_key: ed25519Line(name) },
      headers: acting === "" ? {} : { "Kule-Organisation": acting },
    });
  const tokens: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const { text } = await caller.call(`${api.replicas[0]?.url}/tokens`, {
      method: "POST",
      token: api.seeded.operator_token,
      body: { name: `maker ${index}`, role: "owner", reason },
      headers: { "Kule-Organisation": organisation },
    });
    tokens.push((JSON.parse(text) as { secret: string }).secret);
  }
  // The tokens were created from the same bucket.
  const bucket = { ...perOrganisation, burst: perOrganisation.burst - tokens.length };
  const [answers, seconds] = await timed(() =>
    inLanes(bucket.burst + 30, 4, (index) => create(tokens[index % tokens.length] ?? "", `key-${index}`, "")),
  );
  const violations = bucketViolations("creates of one organisation", answers, bucket, seconds);
  const unexpected = answers.find(({ status }) => status !== 201 && status !== 429);
  if (unexpected !== undefined)
    violations.push(`a create is answered ${unexpected.status} ${unexpected.text}`);
  const other = await create(api.seeded.organisation_token, "elsewhere", "");
  if (other.status !== 201) violations.push(`another organisation's create is answered ${other.status}`);
  return { cases: answers.length + 1, violations };
}

/** One job polled as fast as it goes. Waiting for it instead is free. */
export async function pollLimit(api: ServedApi, caller: HttpCaller): Promise<Found> {
  const token = await freshToken(api, caller);
  const url = api.replicas[0]?.url;
  const created = await caller.call(`${url}/servers`, {
    method: "POST",
    token,
    body: { name: "polled", region: api.seeded.region, image: "debian-13", package: "s" },
  });
  if (created.status !== 202)
    return { cases: 1, violations: [`a server is answered ${created.status} ${created.text}`] };
  const job = (JSON.parse(created.text) as { job: { id: string } }).job.id;
  const [answers, seconds] = await timed(() =>
    inLanes(40, 4, () => caller.call(`${url}/jobs/${job}`, { token })),
  );
  const violations = bucketViolations(
    "polls of one job",
    answers,
    { burst: pollsAtOnce, perHour: 1440 },
    seconds,
  );
  const open = answers.find(({ status }) => status === 200);
  if (open?.headers["retry-after"] !== "5") violations.push("an open job does not say when to poll again");
  const waited = await caller.call(`${url}/jobs/${job}?wait=1`, { token });
  if (waited.status !== 200) violations.push(`waiting for a job is answered ${waited.status}`);
  return { cases: answers.length + 1, violations };
}
