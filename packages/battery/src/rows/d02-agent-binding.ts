import { randomUUID } from "node:crypto";
import { type IdPrefix, newId } from "@kule/api/platform/ids";
import type { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { callOperation, type RawAnswer } from "@kule/api/testing/proofs/operation-call";
import { claimThis, runJob } from "@kule/api/testing/proofs/region-agent";
import { made, Tenant } from "@kule/api/testing/proofs/tenant";
import { operations } from "@kule/contract/generated/operations";
import type { OperationId } from "@kule/contract/schemas";
import { JOB_KINDS } from "@kule/programs/registry";
import pg from "pg";
import { stolenTokenViolations } from "../agent-trust/stolen-token.ts";
import type { Row, RowResult, RowRun } from "../row.ts";

const rounds = { sample: 1, full: 8 } as const;

export const row: Row = {
  id: "D2",
  title:
    "An agent's token reaches only its own region, every other attempt is in the audit trail, and with it no password can be read and no text shown to a tenant",
  minutes: 0.4,
  mutants: [
    {
      name: "any-region-finds-the-job",
      removes: "the region in the search for an agent's job",
      patches: [
        {
          file: "apps/api/src/agent/find-job.ts",
          find: '.where("region", region === null ? "is" : "=", region)',
          replace: '.where("region", "is not", region === "" ? null : null)',
        },
      ],
      expects: /of another region .* is answered|changed what region r2 holds/,
    },
    {
      name: "any-region-reports-a-known-job",
      removes: "the region in the search among the jobs that the API has assigned",
      patches: [
        {
          file: "apps/api/src/agent/claimed-jobs.ts",
          find: "job?.region === region ? job : null",
          replace: "job ?? null",
        },
      ],
      expects: /of another region .* is answered|changed what region r2 holds/,
    },
    {
      name: "refusal-not-noted",
      removes: "the audit row of an agent's refusal",
      patches: [
        {
          file: "apps/api/src/platform/operation.ts",
          find: 'const isAgents = info.tag === "agent" ||',
          replace: "const isAgents = info === null &&",
        },
      ],
      expects: /left no row in the audit trail/,
    },
    {
      name: "any-key-is-believed",
      removes: "the approval of another key by an operator",
      patches: [
        {
          file: "packages/rules/src/regions/agent-key.ts",
          find: 'if (inUse === null) return "first";',
          replace: 'if (inUse !== key) return "first";',
        },
      ],
      expects: /sealed to a key that whoever has the agent's token told later/,
    },
    {
      name: "region-speaks-in-steps",
      removes: "the closed forms of a step's message",
      patches: [
        {
          file: "apps/api/src/products/jobs/view.ts",
          find: "message: knownStepMessage(step.message),",
          replace: "message: knownStepMessage(step.message) ?? step.message,",
        },
      ],
      expects: /a tenant reads the region's words in GET \/jobs\/\*/,
    },
    {
      name: "region-speaks-in-reasons",
      removes: "our own texts for the reason of a record",
      patches: [
        {
          file: "apps/api/src/agent/end-attempt.ts",
          find: "error === null ? defaultMessages[status] : jobErrorText(error.code);",
          replace: "error === null ? defaultMessages[status] : error.message;",
        },
      ],
      expects: /a tenant reads the region's words in GET \/servers\/\*/,
    },
  ],
  run,
};

/** The reports about a step; the epoch is filled in. */
const reports: readonly (readonly [string, object])[] = [
  ["progress", { phase: "apply", progress: 90 }],
  ["a step", { phase: "apply", step: { name: "clone", status: "running" }, irreversible: true }],
  ["success", { phase: "verify", outcome: { status: "succeeded", observed: { power_state: "on" } } }],
  ["cancellation", { outcome: { status: "cancelled" } }],
  ["release", { outcome: { status: "released" } }],
  [
    "failure",
    { outcome: { status: "failed", error: { code: "template_missing", message: "no", retryable: false } } },
  ],
];

async function run({ scale, random, progress }: RowRun): Promise<RowResult> {
  const world = await ApiWorld.open();
  const owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 2 });
  try {
    const violations: string[] = [];
    let cases = 0;
    const r1 = await world.addRegion("r1");
    const r2 = await world.addRegion("r2");
    const tenant = await Tenant.open(world, "theirs", r2);
    for (let round = 0; round < rounds[scale]; round += 1) {
      const jobs = await jobsInEveryState(tenant, r2.agent);
      const own = await Tenant.open(world, `ours-${round}`, r1);
      const callers = await strangersToAgents(world, own);
      const attempts = [
        ...reportsFrom(r1.agent, jobs, random),
        ...callers.flatMap(({ who, caller }) => agentCallsFrom(who, caller, jobs)),
        ...userCallsFrom(r1.agent, tenant),
      ];
      progress(`round ${round + 1}: ${attempts.length} attempts`);
      const claimIds = [...(await openClaimsOf(owner, "r2")), randomUUID()];
      const before = await holdingsOf(owner, "r2");
      for (const attempt of attempts) violations.push(...(await judge(owner, attempt)));
      violations.push(...(await claimsFrom(r1.agent, claimIds)));
      cases += attempts.length + claimIds.length + 1;
      violations.push(...(await healthFrom(r1.agent)));
      if ((await holdingsOf(owner, "r2")) !== before)
        violations.push("a token of region r1 changed what region r2 holds");
      // The control: what was refused to r1 is granted to r2.
      const held = jobs.find(({ state }) => state === "running");
      if (held === undefined) throw new Error("no job is running in r2");
      const said = { epoch: held.epoch, seq: 100, outcome: { status: "cancelled" } };
      const granted = await r2.agent.post(`/agent/jobs/${held.id}/steps`, said);
      if (granted.status !== 200) violations.push(`the job's own agent is answered ${granted.status}`);
      const r3 = await world.addRegion(`stolen-${round}`);
      const victim = await Tenant.open(world, `victim-${round}`, r3);
      violations.push(...(await stolenTokenViolations(world, owner, victim, r3.agent)));
      cases += 2;
    }
    return { cases, violations: [...new Set(violations)], figures: { rounds: rounds[scale] } };
  } finally {
    await owner.end();
    await world.close();
  }
}

type ForeignJob = {
  readonly state: string;
  readonly id: string;
  readonly epoch: number;
};

async function jobsInEveryState(tenant: Tenant, agent: ApiCaller): Promise<ForeignJob[]> {
  const of = (state: string, id: string, epoch: number): ForeignJob => ({ state, id, epoch });
  const succeeded = await tenant.addServer();
  await runJob(agent, succeeded.jobId);
  const stopping = made(await tenant.owner.delete(`/servers/${succeeded.id}`)).job.id as string;
  const failed = await tenant.addFailedJob();
  const cancelled = await tenant.addServer();
  made(await tenant.owner.post(`/jobs/${cancelled.jobId}/cancel`));
  const running = await tenant.addServer();
  const { epoch } = await claimThis(agent, running.jobId);
  const queued = await tenant.addServer();
  return [
    of("succeeded", succeeded.jobId, 1),
    of("queued to stop", stopping, 0),
    of("failed", failed, 1),
    of("cancelled", cancelled.jobId, 0),
    of("running", running.jobId, epoch),
    of("queued", queued.jobId, 0),
    of("guessed", newId("job"), 1),
  ];
}

async function strangersToAgents(world: ApiWorld, tenant: Tenant) {
  const session = await tenant.signIn(world, await tenant.addMember("admin"));
  return [
    { who: "an owner's token", caller: tenant.owner },
    { who: "a viewer's token", caller: tenant.callers.viewer },
    { who: "a session", caller: session },
    { who: "an operator's token", caller: world.operator },
  ];
}

type Attempt = {
  readonly sentence: string;
  readonly requestId: string;
  readonly status: number;
  /** False for reads by users, and where the answer is none of a refusal. */
  readonly isNoted: boolean;
  make(requestId: string): Promise<RawAnswer>;
};

function attempt(sentence: string, status: number, make: Attempt["make"], isNoted = true): Attempt {
  return { sentence, status, isNoted, requestId: `d2-${randomUUID()}`, make };
}

/** Reports on jobs of r2 by the agent of r1, under right, old and future epochs. */
function reportsFrom(agent: ApiCaller, jobs: readonly ForeignJob[], random: () => number): Attempt[] {
  return jobs.flatMap(({ state, id, epoch }) =>
    reports.flatMap(([what, report]) =>
      [epoch, epoch + 1].map((claimed) =>
        attempt(`a report of ${what} on a job of another region (${state})`, 404, (requestId) =>
          raw(
            agent,
            "reportStep",
            id,
            { epoch: claimed, seq: 1 + Math.floor(random() * 50), ...report },
            requestId,
          ),
        ),
      ),
    ),
  );
}

/** The agent's three calls by those who are none. */
function agentCallsFrom(who: string, caller: ApiCaller, jobs: readonly ForeignJob[]): Attempt[] {
  return [
    attempt(`a claim by ${who}`, 403, (requestId) => raw(caller, "claimJob", "", claimBody(), requestId)),
    attempt(`a health report by ${who}`, 403, (requestId) =>
      raw(caller, "reportHealth", "", health, requestId),
    ),
    ...jobs.map(({ state, id, epoch }) =>
      attempt(`a report by ${who} on a job that is ${state}`, 403, (requestId) =>
        raw(caller, "reportStep", id, { epoch, seq: 1 }, requestId),
      ),
    ),
  ];
}

/** Every other operation of the contract by an agent. Its own identity and the public part are all it may see. */
function userCallsFrom(agent: ApiCaller, tenant: Tenant): Attempt[] {
  return Object.values(operations)
    .filter(
      ({ tag, permission }) => tag !== "agent" && permission !== "public" && permission !== "authenticated",
    )
    .map(({ id }) =>
      attempt(`${id} by an agent`, 403, (requestId) =>
        callOperation(agent, {
          operation: id,
          path: pathIdsOf(id, tenant),
          headers: { "X-Request-Id": requestId, "Kule-Organisation": tenant.id },
          ...(operations[id].body === null ? {} : { body: {} }),
        }),
      ),
    );
}

const prefixes: Readonly<Record<string, IdPrefix>> = {
  member_id: "mem",
  invitation_id: "inv",
  login_session_id: "tok",
  passkey_id: "psk",
  identity_id: "idn",
  reservation_id: "rsv",
  token_id: "tok",
  ssh_key_id: "key",
  network_id: "net",
  subnet_id: "sub",
  firewall_id: "fw",
  firewall_rule_id: "fwr",
  firewall_attachment_id: "fwa",
  gateway_id: "gw",
  port_forward_id: "pf",
  server_id: "srv",
  job_id: "job",
  agent_rollout_id: "rol",
  ip_pool_id: "pool",
  range_id: "rng",
  public_ip_id: "ip",
  domain_id: "dom",
  certificate_id: "cert",
  load_balancer_id: "lb",
  listener_id: "lsn",
  target_id: "tgt",
  session_id: "con",
};

function pathIdsOf(operation: OperationId, tenant: Tenant): Record<string, string> {
  const ids = operations[operation].pathParameters.map((name) => {
    const prefix = prefixes[name];
    const id =
      name === "region"
        ? "r2"
        : name === "record_name"
          ? "www"
          : name === "record_type"
            ? "A"
            : name === "organisation_id"
              ? tenant.id
              : name === "address"
                ? "192.0.2.1"
                : prefix && newId(prefix);
    if (id === undefined) throw new Error(`${operation} names ${name}, of which this row knows nothing`);
    return [name, id];
  });
  return Object.fromEntries(ids);
}

async function judge(
  owner: pg.Pool,
  { sentence, status, isNoted, requestId, make }: Attempt,
): Promise<string[]> {
  const answer = await make(requestId);
  const violations =
    answer.status === status ? [] : [`${sentence} is answered ${answer.status}, not ${status}`];
  const { rows } = await owner.query(
    "select 1 from audit where request_id = $1 and outcome = 'refused' and http_status = $2",
    [requestId, status],
  );
  if (isNoted && rows.length !== 1)
    violations.push(
      rows.length === 0
        ? `${sentence} left no row in the audit trail`
        : `${sentence} left ${rows.length} rows in the audit trail`,
    );
  return violations;
}

async function openClaimsOf(owner: pg.Pool, region: string): Promise<string[]> {
  const { rows } = await owner.query<{ claim_id: string }>(
    "select claim_id from job where region = $1 and status = 'running' and claim_id is not null",
    [region],
  );
  if (rows.length === 0) throw new Error(`no claim of ${region} is open`);
  return rows.map((job) => job.claim_id);
}

/** Claims find nothing in a region without work, not even under claim_ids that another region's jobs are held by. */
async function claimsFrom(agent: ApiCaller, claimIds: readonly string[]): Promise<string[]> {
  const violations: string[] = [];
  for (const claimId of claimIds) {
    const answer = await agent.post("/agent/jobs/claim", { ...claimBody(), claim_id: claimId });
    if (answer.status !== 204)
      violations.push(`a claim by an agent that has nothing to do is answered ${answer.status}`);
  }
  return violations;
}

async function healthFrom(agent: ApiCaller): Promise<string[]> {
  const answer = await agent.post("/agent/health", health);
  return answer.status === 200 && answer.body.region === "r1"
    ? []
    : [`a health report of r1 is answered ${answer.status} for ${answer.body?.region}`];
}

/** Everything of a region that an agent's call could change, as one text. */
async function holdingsOf(owner: pg.Pool, region: string): Promise<string> {
  const queries = [
    "select to_jsonb(j) - 'version' as row from job j where region = $1 order by id",
    "select to_jsonb(t) as row from job_step t join job j on j.id = t.job_id where j.region = $1 order by t.job_id, t.epoch, t.seq",
    "select to_jsonb(s) as row from server s where region = $1 order by id",
    "select to_jsonb(r) as row from region r where slug = $1",
    "select to_jsonb(v) as row from region_vmid v where region = $1 order by vmid",
  ];
  const found = [];
  for (const query of queries) found.push((await owner.query(query, [region])).rows);
  if (found.some((rows, index) => rows.length === 0 && index !== 1))
    throw new Error(`${region} holds nothing`);
  return JSON.stringify(found);
}

const health = {
  agent_version: "0.1.0",
  hypervisor: { kind: "proxmox", reachable: false, nodes: [] },
  templates: [],
};

const claimBody = () => ({
  claim_id: randomUUID(),
  agent_version: "0.1.0",
  capabilities: [...JOB_KINDS],
});

function raw(
  caller: ApiCaller,
  operation: OperationId,
  jobId: string,
  body: object,
  requestId: string,
): Promise<RawAnswer> {
  return callOperation(caller, {
    operation,
    path: jobId === "" ? {} : { job_id: jobId },
    headers: { "X-Request-Id": requestId },
    body,
  });
}
