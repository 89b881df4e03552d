import type { Schemas } from "./schemas.ts";

type FieldError = Schemas["FieldError"];

/** So many are answered; of the rest only the number. */
export const mostFieldErrors = 100;
/** Longer than any path of the contract; names come from the sender. */
const longestPlace = 256;
const longestMessage = 1_500;

/**
 * What is wrong with a request: each path and code once, in the order of arrival, limited in number and size.
 * Bulk input must not make the answer, the work or the memory grow with it.
 */
export class FieldErrorList {
  readonly #known = new Set<string>();
  readonly #places = new Set<string>();
  readonly errors: FieldError[] = [];
  /** How many more there were. */
  leftOut = 0;

  get isFull(): boolean {
    return this.errors.length >= mostFieldErrors;
  }

  /** Whether something is wrong at that place already. */
  has(pointer: string): boolean {
    return this.#places.has(cut(pointer, longestPlace));
  }

  add(error: FieldError): void {
    const pointer = cut(error.pointer, longestPlace);
    const key = `${pointer} ${error.code}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    this.#places.add(pointer);
    if (this.isFull) {
      this.leftOut += 1;
      return;
    }
    this.errors.push({
      ...error,
      pointer,
      field: cut(error.field, longestPlace),
      message: cut(error.message, longestMessage),
    });
  }

  addAll(errors: Iterable<FieldError>): void {
    for (const error of errors) this.add(error);
  }
}

/** The text, or its beginning when it is longer. */
export function cut(text: string, mostCharacters: number): string {
  return text.length <= mostCharacters ? text : `${text.slice(0, mostCharacters - 1).toWellFormed()}…`;
}
