import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ServerWorld } from "@kule/api/testing/server-world";
import { tally } from "../races/answer-text.ts";
import { inParallel } from "../races/in-parallel.ts";

/** As many as the plan requires. */
export const clients = 32;
const maxTries = 5;

/** Two replicas of the API over one database, many clients at both, and everything that they were given. */
export class RaceWorld {
  readonly servers: ServerWorld;
  readonly violations: string[] = [];
  /** What was allocated, by kind: `address sub_…`, `VLAN ist1`, `VMID ist1`, `name acme`. */
  readonly #given = new Map<string, Set<string>>();
  readonly #second: ApiCaller["app"];
  #made = 0;
  allocations = 0;
  requests = 0;
  /** Answers of 503: on a machine that is short of time, a wait for a row's lock may end as "try again". */
  busy = 0;

  private constructor(servers: ServerWorld, second: ApiCaller["app"]) {
    this.servers = servers;
    this.#second = second;
  }

  static async open(): Promise<RaceWorld> {
    const settings = { poolSize: clients / 2 };
    const servers = await ServerWorld.open(settings);
    return new RaceWorld(servers, (await servers.world.addReplica(settings)).app);
  }

  /** The other replica: what races through it meets the first one only in the database. */
  get secondApp(): ApiCaller["app"] {
    return this.#second;
  }

  nextName(): string {
    this.#made += 1;
    return `race-${this.#made}`;
  }

  /**
   * Sends this many concurrent requests, half of them at each replica. Any other answer than these is a
   * violation.
   */
  async race(
    what: string,
    caller: ApiCaller,
    count: number,
    expected: RegExp,
    ask: (caller: ApiCaller, index: number) => Promise<Answer>,
  ): Promise<Answer[]> {
    const callers = [caller, caller.at(this.#second)] as const;
    const answers = await inParallel(count, clients, (index) =>
      this.#untilNotBusy(() => ask(callers[index % 2 === 0 ? 0 : 1], index)),
    );
    this.requests += count;
    const odd = answers.filter((answer) => !expected.test(tally([answer]).replace(/^1 × /, "")));
    if (odd.length > 0) this.violations.push(`${what}: answers that nothing explains: ${tally(odd)}`);
    return answers;
  }

  /** As every client does that gets a retry as its answer. */
  async #untilNotBusy(ask: () => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await ask();
      if (answer.status !== 503 || tries === maxTries) return answer;
      this.busy += 1;
    }
  }

  /** Notes something that was given out, of which there may be one. */
  give(pool: string, thing: string): void {
    const given = this.#given.get(pool) ?? new Set();
    if (given.has(thing)) this.violations.push(`${pool}: ${thing} was given out twice`);
    this.#given.set(pool, given.add(thing));
    this.allocations += 1;
  }

  /** Records the address and the MAC (which contains the VM number) of each accepted server. */
  giveServers(region: string, answers: readonly Answer[]): void {
    for (const { status, body } of answers) {
      if (status !== 202) continue;
      const [nic] = body.server.interfaces;
      this.give(`address of ${nic?.subnet_id}`, String(nic?.private_ip));
      this.give(`MAC of ${region}`, String(nic?.mac));
    }
  }

  /** So many accepted, and every refusal names what is exhausted. */
  expectAccepted(what: string, answers: readonly Answer[], accepted: number, names: string): void {
    const found = answers.filter(({ status }) => status < 300).length;
    if (found !== accepted)
      this.violations.push(`${what}: ${found} were accepted and not ${accepted}: ${tally(answers)}`);
    for (const { status, body } of answers)
      if (status === 409 && body.precondition?.resource !== names)
        this.violations.push(`${what}: a 409 names ${body.precondition?.resource} and not ${names}`);
  }

  close(): Promise<void> {
    return this.servers.close();
  }
}
