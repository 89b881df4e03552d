/** The most streams a person may have; each uses a connection while it is open. */
export const mostStreamsOfPerson = 30;

/** The open event streams to browsers, counted by person. */
export class StreamPlaces {
  readonly #open = new Map<string, number>();

  /** Takes a place; the returned function releases it. Null when the person has the maximum. */
  take(person: string): (() => void) | null {
    const open = this.#open.get(person) ?? 0;
    if (open >= mostStreamsOfPerson) return null;
    this.#open.set(person, open + 1);
    return () => {
      const left = (this.#open.get(person) ?? 1) - 1;
      if (left === 0) this.#open.delete(person);
      else this.#open.set(person, left);
    };
  }
}
