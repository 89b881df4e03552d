/** What an operation answers: a status and a body of the contract's shape, or nothing for 204. */
export type Reply = {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

export function reply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, body, headers };
}

export function noContent(): Reply {
  return { status: 204, body: null };
}

/** The ETag of a resource at a generation. */
export function etagOf(generation: number): string {
  return `"g${generation}"`;
}
