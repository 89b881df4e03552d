import type { JobKind } from "@kule/contract/schemas";
import { subjectFor, type Work } from "./course.ts";
import { SCENARIOS } from "./scenarios.ts";
import type { JobScene, Subject } from "./scene.ts";

/** Servers that an earlier case left in the state that a later one starts from: making new ones costs jobs. */
export class SubjectPool {
  readonly #scene: JobScene;
  readonly #byStatus = new Map<string, Subject[]>();

  constructor(scene: JobScene) {
    this.#scene = scene;
  }

  /** So many servers from which a job of the kind can be caused. `work` is used for those that have to be made. */
  async take(kind: JobKind, count: number, work: Work): Promise<Subject[]> {
    const { after } = SCENARIOS[kind];
    const waiting = after === null ? [] : (this.#byStatus.get(SCENARIOS[after].succeeded.status) ?? []);
    const taken = waiting.splice(0, count);
    const missing = Array.from({ length: count - taken.length }, () => subjectFor(this.#scene, kind, work));
    return [...taken, ...(await Promise.all(missing))];
  }

  /** How many would have to be made. */
  missing(kind: JobKind, count: number): number {
    const { after } = SCENARIOS[kind];
    if (after === null) return 0;
    return Math.max(0, count - (this.#byStatus.get(SCENARIOS[after].succeeded.status)?.length ?? 0));
  }

  /** Gives back servers whose job of the kind has succeeded. */
  put(kind: JobKind, subjects: readonly Subject[]): void {
    const { status } = SCENARIOS[kind].succeeded;
    this.#byStatus.set(status, [...(this.#byStatus.get(status) ?? []), ...subjects]);
  }
}
