// The simulation's time. Events happen one after another; between two of them everything that can continue
// does, and only when all are waiting does time move, at once, to the next event.

type Event = { readonly at: number; readonly order: number; run: (() => void) | null };

/** Events for one turn of the event loop: between two of them it lets all promises settle. */
const EVENTS_A_TURN = 128;

export class VirtualClock {
  #now: number;
  #order = 0;
  /** A binary heap, the earliest first; of two at the same time the one that was scheduled first. */
  readonly #heap: Event[] = [];
  /** How many have happened. */
  events = 0;

  constructor(startMilliseconds: number) {
    this.#now = startMilliseconds;
  }

  now(): number {
    return this.#now;
  }

  /**
   * Calls back after the time in whole milliseconds, as timers do, unless the returned function is called
   * before.
   */
  after(milliseconds: number, callback: () => void): () => void {
    const event: Event = {
      at: this.#now + Math.max(0, Math.ceil(milliseconds)),
      order: this.#order++,
      run: callback,
    };
    this.#push(event);
    return () => {
      event.run = null;
    };
  }

  /** Runs events until the condition holds (true), or no event or time is left (false). */
  runUntil(done: () => boolean, limitMilliseconds: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const finish = (settle: () => void) => {
        isOver = true;
        settle();
      };
      let left = 0;
      const turn = () => {
        left = EVENTS_A_TURN;
        for (let count = 0; count < EVENTS_A_TURN; count++) setImmediate(step);
      };
      const step = () => {
        if (isOver) return;
        try {
          if (done()) return finish(() => resolve(true));
          const event = this.#next();
          if (event === null || event.at > limitMilliseconds) {
            if (event !== null) this.#push(event);
            return finish(() => resolve(false));
          }
          this.#now = event.at;
          this.events += 1;
          event.run?.();
        } catch (error) {
          return finish(() => reject(error));
        }
        left -= 1;
        if (left === 0) turn();
      };
      turn();
    });
  }

  #next(): Event | null {
    for (;;) {
      const event = this.#pop();
      if (event === null || event.run !== null) return event;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(event);
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isBefore(parent, event)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  #pop(): Event | null {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const one = heap[left];
      if (one === undefined) break;
      const other = heap[left + 1];
      const [child, at] = other !== undefined && isBefore(other, one) ? [other, left + 1] : [one, left];
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = at;
    }
    heap[index] = last;
    return first;
  }
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);
