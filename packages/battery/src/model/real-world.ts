import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { type ClaimedJob, TestAgent } from "@kule/api/testing/test-agent";
import type pg from "pg";
import type { Expected, Room, Side } from "./model-state.ts";

/** The API that the model is held against: two organisations and a region of their own. */
export type Real = {
  readonly world: ApiWorld;
  readonly owner: pg.Pool;
  readonly region: string;
  readonly callers: readonly [ApiCaller, ApiCaller];
  readonly organisations: readonly [string, string];
  readonly agent: TestAgent;
  /** What the agent holds, by the job's id. */
  readonly held: Map<string, ClaimedJob>;
  /** What has changed something so far, as one would do it again. */
  readonly trace: string[];
  /** Answers that were held against the model. */
  readonly counted: { answers: number; commands: number; readonly outcomes: Map<string, number> };
};

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
    vmid_range: { first: 100, last: 99 + room.vmids },
    vlan_range: { first: 100, last: 99 + room.vlans },
    restricted_to: [a.id, b.id],
  });
  return {
    world,
    owner,
    region: region.slug,
    callers: [a.owner, b.owner],
    organisations: [a.id, b.id],
    agent: new TestAgent(region.agent),
    held: new Map(),
    trace: [],
    counted,
  };
}

/** Calls as that side and holds the answer's status, and its code, against the model. */
export async function ask(
  real: Real,
  side: Side,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  expected: Expected,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer["body"]> {
  const answer = await real.callers[side].send(method, path, body, headers);
  real.counted.answers += 1;
  if (method !== "GET")
    real.trace.push(
      `${"AB"[side]} ${method} ${path} ${body === undefined ? "" : JSON.stringify(body)} ${answer.status}`,
    );
  const { status, code } = expected;
  if (answer.status !== status || (code !== undefined && answer.body?.code !== code))
    throw new Error(
      `${method} ${path}: the model says ${status} ${code ?? ""}, the API says ${answer.status} ${JSON.stringify(answer.body)?.slice(0, 400)}`,
    );
  const outcome = code ?? String(status);
  real.counted.outcomes.set(outcome, (real.counted.outcomes.get(outcome) ?? 0) + 1);
  return answer.body;
}

/** @throws Error saying where the API's view differs from the model's */
export function same(what: string, api: unknown, model: unknown): void {
  const [one, other] = [JSON.stringify(api), JSON.stringify(model)];
  if (one !== other) throw new Error(`${what}: the API says ${one}, the model says ${other}`);
}
