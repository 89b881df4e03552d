/**
 * The API's expected answer: a status, and for a conflict its code and, where there are several, the
 * preconditions.
 */
export type Expected = { readonly status: number; readonly code?: string; readonly precondition?: string };

export const refused = (code: string, precondition?: string): Expected =>
  precondition === undefined ? { status: 409, code } : { status: 409, code, precondition };
export const absent: Expected = { status: 404 };

/** A conflict with that code, or else the answer. */
export const unless = (code: string | null, answer: Expected): Expected =>
  code === null ? answer : refused(code);
