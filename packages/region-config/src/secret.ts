import { inspect } from "node:util";

/**
 * A secret read from the environment or a file. It is revealed only by an explicit call, never in a log or
 * JSON.
 */
export class Secret {
  readonly #value: string;
  /** Its source, for messages: "environment variable KULE_PVE_TOKEN". */
  readonly source: string;

  constructor(value: string, source: string) {
    this.#value = value;
    this.source = source;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return `[secret from ${this.source}]`;
  }
}
