import type { Caller } from "./caller.ts";
import { RateLimited } from "./errors.ts";

/**
 * More than a person watches at the same time; each costs a connection, and reads the database when its job
 * changes.
 */
const mostOfOwner = 50;
const mostOfOrganisation = 500;
const retryAfterSeconds = 5;

/** The event streams that are open at this process, by who answers for them. */
export class OpenStreams {
  readonly #open = new Map<string, number>();

  /**
   * Counts one more stream; the returned function releases its place, once.
   *
   * @throws RateLimited when the caller or the organisation has the maximum
   */
  take({
    owner,
    organisation,
    isOperator,
  }: Pick<Caller, "owner" | "organisation" | "isOperator">): () => void {
    const limits: [string, number][] = [[`owner ${owner}`, mostOfOwner]];
    if (organisation !== null && !isOperator)
      limits.push([`organisation ${organisation.id}`, mostOfOrganisation]);
    for (const [key, most] of limits)
      if ((this.#open.get(key) ?? 0) >= most)
        throw new RateLimited(retryAfterSeconds, "too many event streams are open; close one and come back");
    for (const [key] of limits) this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      for (const [key] of limits) {
        const left = (this.#open.get(key) ?? 1) - 1;
        if (left === 0) this.#open.delete(key);
        else this.#open.set(key, left);
      }
    };
  }
}
