import type { ServerJobKind } from "@kule/contract/schemas";
import { subjectFor, type Work } from "./course.ts";
import { SCENARIOS } from "./scenarios.ts";
import type { JobScene, Subject } from "./scene.ts";

/** Servers that an earlier case left in the state that a later one starts from: making new ones costs jobs. */
export class SubjectPool {
  readonly #scene: JobScene;
  readonly #byState = new Map<string, Subject[]>();

  constructor(scene: JobScene) {
    this.#scene = scene;
  }

  /**
   * This many servers from which a job of the kind can be caused. `work` is used to create the missing ones.
   */
  async take(kind: ServerJobKind, count: number, work: Work): Promise<Subject[]> {
    const taken = this.#waiting(kind).splice(0, count);
    const missing = Array.from({ length: count - taken.length }, () => subjectFor(this.#scene, kind, work));
    return [...taken, ...(await Promise.all(missing))];
  }

  /** How many would have to be created. */
  missing(kind: ServerJobKind, count: number): number {
    if (SCENARIOS[kind].after === null) return 0;
    return Math.max(0, count - this.#waiting(kind).length);
  }

  /** Returns servers whose job of the kind has succeeded. */
  put(kind: ServerJobKind, subjects: readonly Subject[]): void {
    const state = stateAfter(kind);
    this.#byState.set(state, [...(this.#byState.get(state) ?? []), ...subjects]);
  }

  #waiting(kind: ServerJobKind): Subject[] {
    const { after } = SCENARIOS[kind];
    return after === null ? [] : (this.#byState.get(stateAfter(after)) ?? []);
  }
}

/** The state that a later job starts from. */
function stateAfter(kind: ServerJobKind): string {
  const { status, with: difference = "nothing" } = SCENARIOS[kind].succeeded;
  return `${status} with ${difference}`;
}
