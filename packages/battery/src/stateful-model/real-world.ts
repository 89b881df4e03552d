import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { type ClaimedJob, TestAgent } from "@kule/api/testing/test-agent";
import type pg from "pg";
import type { Expected } from "../reference-model/answers.ts";
import { MAX_ATTEMPTS, ModelState, UNNAMED } from "../reference-model/model-state.ts";
import type { ModelAddress, Side } from "../reference-model/types.ts";

/**
 * How much the region has. A VM number that was used rests for longer than any run. `addresses` are public ones for each
 * organisation, of each version.
 */
export type Room = { readonly vmids: number; readonly vlans: number; readonly addresses: number };

/** The API that the model is held against: two organisations and a region of their own. */
export type Real = {
  readonly world: ApiWorld;
  readonly owner: pg.Pool;
  readonly region: string;
  readonly callers: readonly [ApiCaller, ApiCaller];
  /** An operator of the installation, on behalf of each organisation. */
  readonly operators: readonly [ApiCaller, ApiCaller];
  readonly organisations: readonly [string, string];
  /** The public addresses that the organisations were allocated. */
  readonly addresses: readonly ModelAddress[];
  readonly agent: TestAgent;
  /** The jobs that the agent holds, by id. */
  readonly held: Map<string, ClaimedJob>;
  /** The commands that have changed something so far, in a form that can be repeated. */
  readonly trace: string[];
  /** Whether something was changed since the server was compared; refused requests change nothing. */
  readonly since: { hasChanged: boolean };
  /** Answers that were held against the model. */
  readonly counted: { answers: number; commands: number; readonly outcomes: Map<string, number> };
};

/** Longer than any sequence. */
export const LEASE_SECONDS = 3_600;
const FIRST_VMID = 100;

/** The model of organisations and a region without anything; no command depends on the time. */
export function emptyState({ vmids, vlans }: Room, addresses: readonly ModelAddress[]): ModelState {
  return new ModelState({
    now: () => 0,
    vmidRange: vmidRange(vmids),
    vlans,
    removalBufferSeconds: 0,
    leaseSeconds: LEASE_SECONDS,
    maxAttempts: MAX_ATTEMPTS,
    addresses,
    idOfJob: () => UNNAMED,
  });
}

const vmidRange = (count: number) => ({ first: FIRST_VMID, last: FIRST_VMID + count - 1 });

let made = 0;

export async function openReal(
  world: ApiWorld,
  owner: pg.Pool,
  room: Room,
  counted: Real["counted"],
): Promise<Real> {
  made += 1;
  const a = await world.addOrganisation(`model-${made}-a`);
  const b = await world.addOrganisation(`model-${made}-b`);
  const region = await world.addRegion(`model-${made}`, {
    vmid_range: vmidRange(room.vmids),
    vlan_range: { first: 100, last: 99 + room.vlans },
    restricted_to: [a.id, b.id],
  });
  const organisations = [a.id, b.id] as const;
  return {
    world,
    owner,
    region: region.slug,
    callers: [a.owner, b.owner],
    operators: [
      world.operator.with({ "Kule-Organisation": a.id }),
      world.operator.with({ "Kule-Organisation": b.id }),
    ],
    organisations,
    addresses: await allocate(world, region.slug, organisations, room.addresses),
    agent: new TestAgent(region.agent),
    held: new Map(),
    trace: [],
    since: { hasChanged: true },
    counted,
  };
}

/** A pool of each version, with so many addresses for each of the organisations. */
async function allocate(
  world: ApiWorld,
  region: string,
  organisations: readonly [string, string],
  each: number,
): Promise<ModelAddress[]> {
  if (each === 0) return [];
  const four = `100.${64 + Math.floor(made / 256)}.${made % 256}`;
  const six = `2001:db8:${made.toString(16)}:`;
  const pools = [
    {
      version: 4,
      gateway: `${four}.1`,
      prefix: 24,
      cidr: `${four}.16/29`,
      at: (n: number) => `${four}.${16 + n}`,
    },
    { version: 6, gateway: `${six}:1`, prefix: 64, cidr: `${six}:10/125`, at: (n: number) => `${six}:1${n}` },
  ] as const;
  const addresses: ModelAddress[] = [];
  for (const { version, gateway, prefix, cidr, at } of pools) {
    const pool = await operate(world, "/ip-pools", {
      region,
      name: `v${version}`,
      gateway,
      prefix_length: prefix,
    });
    await operate(world, `/ip-pools/${pool.id}/ranges`, { cidr });
    for (const side of [0, 1] as const) {
      const own = Array.from({ length: each }, (_, index) => at(side * 4 + index));
      await operate(world, `/ip-pools/${pool.id}/allocations`, {
        organisation_id: organisations[side],
        addresses: own,
      });
      for (const address of own) addresses.push({ address, version, side, state: "free", rested: 0 });
    }
  }
  return addresses;
}

async function operate(world: ApiWorld, path: string, body: object): Promise<Answer["body"]> {
  const answer = await world.operator.post(path, body);
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** Calls as that side and compares the answer's status, and its code, with the model. */
export function ask(
  real: Real,
  side: Side,
  method: Method,
  path: string,
  expected: Expected,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer["body"]> {
  return askAs(real, real.callers[side], "AB".charAt(side), method, path, expected, body, headers);
}

/** The same as an operator of the installation who acts for that side. */
export function askOperator(
  real: Real,
  side: Side,
  method: Method,
  path: string,
  expected: Expected,
  body?: object,
): Promise<Answer["body"]> {
  return askAs(real, real.operators[side], "operator", method, path, expected, body, {});
}

async function askAs(
  real: Real,
  caller: ApiCaller,
  who: string,
  method: Method,
  path: string,
  expected: Expected,
  body: object | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Answer["body"]> {
  const answer = await caller.send(method, path, body, headers);
  real.counted.answers += 1;
  if (method !== "GET")
    real.trace.push(
      `${who} ${method} ${path} ${body === undefined ? "" : JSON.stringify(body)} ${answer.status}`,
    );
  const { status, code, precondition } = expected;
  const isSaid =
    answer.status === status &&
    (code === undefined || answer.body?.code === code) &&
    (precondition === undefined || answer.body?.precondition?.name === precondition);
  if (!isSaid)
    throw new Error(
      `${method} ${path}: the model says ${status} ${code ?? ""}${precondition === undefined ? "" : ` (${precondition})`}, the API says ${answer.status} ${JSON.stringify(answer.body)?.slice(0, 400)}`,
    );
  if (method !== "GET" && status < 400) real.since.hasChanged = true;
  const outcome = code ?? String(status);
  real.counted.outcomes.set(outcome, (real.counted.outcomes.get(outcome) ?? 0) + 1);
  return answer.body;
}

/** @throws Error saying where the API's view differs from the model's */
export function same(what: string, api: unknown, model: unknown): void {
  const [one, other] = [JSON.stringify(api), JSON.stringify(model)];
  if (one !== other) throw new Error(`${what}: the API says ${one}, the model says ${other}`);
}
