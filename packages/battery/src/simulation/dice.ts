import { seededGenerator } from "@kule/lab/runtime";

/** The simulation's random numbers; one seed always gives the same ones. */
export class Dice {
  readonly random: () => number;
  readonly #seed: number;
  #forks = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.random = seededGenerator(seed);
  }

  /** Dice of their own for one part, so that what it throws does not shift what others throw. */
  fork(): Dice {
    this.#forks += 1;
    return new Dice((Math.imul(this.#seed, 0x9e3779b1) + Math.imul(this.#forks, 0x85ebca6b)) >>> 0);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.random() < probability;
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  whole(low: number, high: number): number {
    return low + Math.floor(this.random() * (high - low + 1));
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[Math.floor(this.random() * choices.length)] ?? choices[0];
  }

  hex(length: number): string {
    let text = "";
    while (text.length < length) text += Math.floor(this.random() * 16).toString(16);
    return text;
  }
}
