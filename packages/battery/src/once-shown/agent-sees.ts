import type { ApiCaller } from "@kule/api/testing/api-caller";
import { TestAgent } from "@kule/api/testing/test-agent";
import { openSecret } from "@kule/sealed-secret/sealed-secret";
import type pg from "pg";
import { verify } from "unixcrypt";

/** What a create's payload contains of the password, by the server's id. */
export type Carried = { readonly hash: string | null; readonly sealed: string | null };

/** How the region's agent gets at passwords: by claims, and again after its lease, or a failure, or a release. */
export class SeeingAgent {
  readonly #agent: TestAgent;
  readonly #owner: pg.Pool;
  readonly carried = new Map<string, { readonly name: string; readonly seen: Carried[] }>();

  constructor(caller: ApiCaller, owner: pg.Pool) {
    this.#agent = new TestAgent(caller);
    this.#owner = owner;
  }

  /** Claims all there is, loses it in one of three ways, claims it again, and succeeds. */
  async work(random: () => number): Promise<void> {
    const lost = new Set<string>();
    for (;;) {
      const job = await this.#agent.claim();
      if (job === null) return;
      if (job.payload.kind !== "ServerCreate") throw new Error(`${job.payload.kind} was not asked for`);
      const { server, password_hash: hash, sealed_password: sealed } = job.payload;
      const known = this.carried.get(server.id) ?? { name: server.name, seen: [] };
      known.seen.push({ hash, sealed });
      this.carried.set(server.id, known);
      if (lost.has(job.id)) {
        await this.#agent.succeed(job);
        continue;
      }
      lost.add(job.id);
      if (random() < 0.5) await this.#agent.end(job, { status: "released" });
      else
        await this.#owner.query(
          "update job set lease_until = clock_timestamp() - interval '1 second' where id = $1",
          [job.id],
        );
      await this.#owner.query(
        "update job set run_at = clock_timestamp() - interval '1 second' where status = 'queued'",
      );
    }
  }
}

/** A repeated step must apply the password that was shown, and nothing that differs from the first time. */
export function carriedViolations(
  carried: SeeingAgent["carried"],
  passwordOf: (serverName: string) => string | null,
  agentPrivateKey: string,
): string[] {
  const violations: string[] = [];
  for (const [id, { name, seen }] of carried) {
    const [first, ...others] = seen;
    if (first === undefined || others.length === 0) {
      violations.push(`the job of ${name} was claimed once only: nothing was repeated`);
      continue;
    }
    if (others.some(({ hash, sealed }) => hash !== first.hash || sealed !== first.sealed))
      violations.push(`a repeated step of ${name} is given another password than the first time`);
    const password = passwordOf(name);
    if (password === null) continue;
    const { hash, sealed } = first;
    const isRight =
      hash !== null
        ? verify(password, hash)
        : sealed !== null && openSecret(agentPrivateKey, sealed, id) === password;
    if (!isRight)
      violations.push(`the guest of ${name} is given another password than the one that was shown`);
  }
  return violations;
}
