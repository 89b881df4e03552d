/** More pages than anybody looks at; each costs a connection for as long as it is open. */
export const mostStreamsOfPerson = 30;

/** The event streams that this panel has open to browsers, by person. */
export class StreamPlaces {
  readonly #open = new Map<string, number>();

  /** Takes a place; what it answers gives it back. Null when the person has as many as may be. */
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
