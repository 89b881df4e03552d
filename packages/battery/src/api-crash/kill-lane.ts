import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ApiWorld } from "@kule/api/testing/api-world";
import { destroyNow } from "@kule/api/testing/proofs/destroy-server";
import type { MutationCall, MutationCase } from "@kule/api/testing/proofs/mutation-cases";
import { openTwoOrganisations, type TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";
import { sharedProviderFile } from "@kule/api/testing/soft-sign-ins";
import { endLostConsoles } from "@kule/api/worker/end-lost-consoles";
import { worldCheck } from "@kule/testing/world-check/world-check";
import pg from "pg";
import {
  type BoundaryCase,
  boundaryCases,
  missingPoints,
  type Reference,
  withoutNeighboursAlike,
} from "./boundary-cases.ts";
import { installationFiles } from "./installation-files.ts";
import { answerShape, differenceOf, hasKey, isPartOf, judgeRetry } from "./judge-retry.ts";
import { type HttpAnswer, KillableApi, lastingSettings } from "./killable-api.ts";
import { changesBetween } from "./row-changes.ts";
import { SnapshotTaker } from "./table-snapshot.ts";

/** A crash point that is not reached by then is never reached. */
const DEATH_MILLISECONDS = 15_000;

export type LaneFindings = {
  readonly violations: string[];
  readonly recoverySeconds: number[];
  cases: number;
};

/**
 * A database with two organisations in it, and one API process after the other over it, each killed at its
 * crash point. The next process is both the restarted API and the one that is killed next.
 */
export class KillLane {
  readonly #main: string;
  readonly #providers: Readonly<Record<string, string>>;
  readonly #all: TwoOrganisations;
  readonly #owner: pg.Pool;
  readonly #snapshots: SnapshotTaker;
  readonly #findings: LaneFindings;
  readonly #references = new Map<string, Reference>();

  private constructor(
    main: string,
    all: TwoOrganisations,
    findings: LaneFindings,
    providers: Readonly<Record<string, string>>,
  ) {
    this.#main = main;
    this.#providers = providers;
    this.#all = all;
    this.#findings = findings;
    this.#owner = new pg.Pool({ connectionString: all.world.database.ownerUrl, max: 2 });
    this.#owner.on("error", () => {});
    this.#snapshots = new SnapshotTaker(this.#owner);
  }

  static async open(main: string, findings: LaneFindings): Promise<KillLane> {
    const world = await ApiWorld.open(lastingSettings);
    const all = await openTwoOrganisations(destroyNow, world);
    return new KillLane(main, all, findings, { ...(await sharedProviderFile()), ...installationFiles() });
  }

  async close(): Promise<void> {
    await this.#owner.end();
    await this.#all.close();
  }

  /** Runs each mutation undisturbed, and returns the boundaries it passed: where it is to be killed. */
  async learn(mutations: readonly MutationCase[]): Promise<BoundaryCase[]> {
    const trace = path.join(mkdtempSync(path.join(tmpdir(), "kule-boundaries-")), "trace");
    const api = await this.#start({ BATTERY_TRACE: trace });
    await api.untilReady();
    const cases: BoundaryCase[] = [];
    for (const mutation of mutations) {
      const reference = await this.#reference(api, mutation);
      if (reference === null) continue;
      this.#references.set(mutation.name, reference);
      const missing = missingPoints(mutation.operation, reference);
      if (missing.length > 0) this.#found(mutation, `passes no boundary ${missing.join(", ")}`);
      if (reference.changes.length === 0)
        this.#found(mutation, "changes nothing, so nothing can be half done");
      cases.push(...boundaryCases(mutation, reference.points));
    }
    await api.process.end("SIGKILL");
    return cases;
  }

  async #reference(api: KillableApi, mutation: MutationCase): Promise<Reference | null> {
    const call = await this.#prepare(mutation);
    const before = await this.#snapshots.take();
    const passedBefore = api.passed().length;
    const answer = await api.send(call, randomUUID());
    if (answer === null || answer.status >= 300) {
      this.#found(
        mutation,
        `undisturbed, answers ${answer?.status ?? "nothing"} ${answer?.text.slice(0, 300) ?? ""}`,
      );
      return null;
    }
    const after = await this.#snapshots.take();
    // The last point is passed when the answer has already been sent.
    for (let looks = 0; looks < 100 && !(api.passed().at(-1) ?? "").endsWith(".replied"); looks += 1)
      await delay(5);
    const prefix = `api.${mutation.operation}.`;
    return {
      changes: changesBetween(before, after, isPartOf(mutation.operation)),
      status: answer.status,
      shape: answerShape(answer.text),
      points: api
        .passed()
        .slice(passedBefore)
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length)),
    };
  }

  /** Kills an API at each of the places. */
  async kill(cases: readonly BoundaryCase[], progress: () => void): Promise<void> {
    const order = withoutNeighboursAlike(cases);
    let api = await this.#startFor(order[0] ?? null);
    await api.untilReady();
    for (const [index, each] of order.entries()) {
      if (each === null) {
        // Without another process to kill: one at which the previous case can be repeated.
        await api.process.end("SIGKILL");
        api = await this.#startFor(order[index + 1] ?? null);
        await api.untilReady();
        continue;
      }
      api = await this.#killOnce(api, each, () => this.#startFor(order[index + 1] ?? null));
      progress();
    }
    await api.process.end("SIGKILL");
  }

  /** @returns the API that was started after the killed one */
  async #killOnce(
    api: KillableApi,
    each: BoundaryCase,
    startNext: () => Promise<KillableApi>,
  ): Promise<KillableApi> {
    const { mutation } = each;
    const reference = this.#references.get(mutation.name);
    if (reference === undefined) throw new Error(`${mutation.name} was not learned`);
    const call = await this.#prepare(mutation);
    const key = randomUUID();
    const before = await this.#snapshots.take();
    const found = (text: string) => this.#found(mutation, `killed at ${each.point}@${each.time}: ${text}`);

    const lost = await api.send(call, key);
    const end = await Promise.race([api.process.ended, delay(DEATH_MILLISECONDS, null, { ref: false })]);
    const diedAt = performance.now();
    if (end?.signal !== "SIGKILL") {
      found(`never reached it; answered ${lost?.status ?? "nothing"}`);
      await api.process.end("SIGKILL");
    }
    const next = await startNext();
    const isWatched = isPartOf(mutation.operation);
    const left = changesBetween(before, await this.#snapshots.take(), isWatched);
    const difference = differenceOf(each.isAfterCommit ? reference.changes : [], left);
    if (difference !== null)
      found(`${each.isAfterCommit ? "not all" : "not nothing"} of it is there (partial): ${difference}`);
    if (lost !== null && each.point !== "replied") found(`answered ${lost.status} before it was to`);

    await next.untilReady();
    const retried = await next.send(call, key);
    this.#findings.recoverySeconds.push((performance.now() - diedAt) / 1000);
    const again = await this.#againIfKeyed(next, call, key);
    const whole = changesBetween(before, await this.#snapshots.take(), isWatched);
    for (const text of judgeRetry({ each, reference, retried, again, changes: whole })) found(text);
    for (const { invariant, check, subject } of await worldCheck({
      ownerUrl: this.#all.world.database.ownerUrl,
    }))
      found(`world-check ${invariant} ${check}: ${subject}`);
    this.#findings.cases += 1;
    return next;
  }

  async #againIfKeyed(api: KillableApi, call: MutationCall, key: string): Promise<HttpAnswer | null> {
    return hasKey(call.operation) ? api.send(call, key) : null;
  }

  async #prepare(mutation: MutationCase): Promise<MutationCall> {
    // Tries that a kill left behind count against the address, which is the same for all of these people.
    await this.#owner.query("delete from login_failure");
    // No worker runs here to end the console sessions that the cases before have left.
    await endLostConsoles(this.#all.world.replica.deps.db);
    const call = await mutation.prepare(this.#all.a, this.#all);
    // One for each organisation and region, which no worker takes here: with that of the case before, or of the
    // preparation, the call would have no entry of its own to add.
    await this.#owner.query("delete from graphile_worker._private_jobs where key like 'filters:%'");
    return call;
  }

  #startFor(each: BoundaryCase | null): Promise<KillableApi> {
    return this.#start(
      each === null ? {} : { BATTERY_CRASH: `api.${each.mutation.operation}.${each.point}@${each.time}` },
    );
  }

  #start(battery: Readonly<Record<string, string>>): Promise<KillableApi> {
    const environment = { ...this.#providers, ...battery };
    return KillableApi.start(this.#main, this.#all.world.database.apiUrl, environment);
  }

  #found(mutation: MutationCase, text: string): void {
    this.#findings.violations.push(`${mutation.name} ${text}`);
  }
}
